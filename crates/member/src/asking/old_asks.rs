//! What earlier incarnations of a member asked.

use crate::runtime::MemberRuntime;
use protocol::Party;
use tracing::warn;

impl MemberRuntime {
    /// Ends what earlier incarnations of this member asked, except for what its conversation still waits for.
    pub fn withdraw_old_asks(&self, conversation: &agent::Conversation) {
        let party = Party::from(self.owner().clone());
        let mut kept = self.engine_asks();
        kept.extend(conversation.waits_for().cloned());
        if let Err(error) = team::withdraw_asks(self.team(), &party, &kept) {
            warn!("old requests stay pending: {error}");
        }
    }
}
