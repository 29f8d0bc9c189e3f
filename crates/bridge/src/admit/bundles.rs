//! Which bundles of commits are stored for another host. What is in them is judged by whoever integrates.

use protocol::{
    AgentName, BundleHead, BundleName, BundlePart, HostId, MAX_BUNDLE_BYTES, Roster, SubmissionId,
};
use teamdir::Space;

/// The most bytes that bundles of one host have here before they are taken, when they are whole.
const MOST_WAITING: u64 = 2 * MAX_BUNDLE_BYTES;
/// The most bundles of one host that are here before they are taken.
const MOST_BUNDLES: usize = 64;

/// Why a bundle of another host is not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleRefused {
    #[error("the queue of the team is not at home on this host")]
    NoQueueHere,
    #[error("team/main is not at home on the host '{0}'")]
    NotHome(HostId),
    #[error("it is called {0}, and brings something else")]
    OtherName(BundleName),
    #[error("'{member}' is not at home on the host '{host}'")]
    NotTheirs { member: AgentName, host: HostId },
    #[error("its bundle says that it is for submission {0} of another commit")]
    OtherSubmission(SubmissionId),
    #[error("its bundle has {0} bytes, and at most {MAX_BUNDLE_BYTES} are taken")]
    Size(u64),
    #[error("its bundle is described in the middle of it")]
    LateHead,
    #[error(
        "{} bundles of {} bytes of this host wait here already: submit it again when they are taken",
        .0.bundles, .0.bytes
    )]
    TooMuchWaits(Space),
}

/// Whether a part of a bundle may come from `host` at all.
pub fn admit_part(
    roster: &Roster,
    host: &HostId,
    is_main: bool,
    part: &BundlePart,
) -> Result<(), BundleRefused> {
    match (&roster.lead_host, is_main) {
        (Some(home), true) if home == host => {}
        (_, true) => return Err(BundleRefused::NotHome(host.clone())),
        (None, false) => {}
        (Some(_), false) => return Err(BundleRefused::NoQueueHere),
    }
    match (part.name, is_main) {
        (BundleName::Main, true) | (BundleName::Submission(_), false) => Ok(()),
        (name @ (BundleName::Main | BundleName::Submission(_)), _) => {
            Err(BundleRefused::OtherName(name))
        }
    }
}

/// Whether a bundle that begins with this part is put together. `others` is what the other bundles of `host` take
/// here when they are whole.
pub fn admit_bundle(
    roster: &Roster,
    host: &HostId,
    (head, part): (&BundleHead, &BundlePart),
    others: Space,
) -> Result<(), BundleRefused> {
    if head.name != part.name || head.digest != part.digest {
        return Err(BundleRefused::OtherName(part.name));
    }
    if part.offset != 0 {
        return Err(BundleRefused::LateHead);
    }
    if head.size == 0 || head.size > MAX_BUNDLE_BYTES {
        return Err(BundleRefused::Size(head.size));
    }
    let bytes = others.bytes.saturating_add(head.size);
    if bytes > MOST_WAITING || others.bundles >= MOST_BUNDLES {
        return Err(BundleRefused::TooMuchWaits(others));
    }
    let (name, submission) = (head.name, head.submission.as_deref());
    let (BundleName::Submission(id), Some(sent)) = (name, submission) else {
        return match (name, submission) {
            (BundleName::Main, None) => Ok(()),
            (name @ (BundleName::Main | BundleName::Submission(_)), _) => {
                Err(BundleRefused::OtherName(name))
            }
        };
    };
    let member = roster.member(&sent.member);
    if member.is_none_or(|member| member.host.as_ref() != Some(host)) {
        return Err(BundleRefused::NotTheirs {
            member: sent.member.clone(),
            host: host.clone(),
        });
    }
    match sent.id == id && sent.commit == head.commit {
        true => Ok(()),
        false => Err(BundleRefused::OtherSubmission(id)),
    }
}
