//! The keys with which a person answers what waits: one key at an empty line, no Enter.

use protocol::RequestId;
use rustyline::{
    Cmd, ConditionalEventHandler, Event, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers,
    RepeatCount,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the keys mean now. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerKeys(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    offered: Option<Offered>,
    pressed: Option<Pressed>,
}

/// The request that is shown, and the keys that answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) id: RequestId,
    pub(crate) keys: Vec<OfferedKey>,
}

/// A key that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfferedKey {
    pub(crate) key: char,
    /// The prompt for the text that belongs to the answer, if it needs one.
    pub(crate) text: Option<&'static str>,
}

/// A key that was pressed, for the request that was shown then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pressed {
    pub(crate) id: RequestId,
    pub(crate) key: OfferedKey,
}

impl AnswerKeys {
    /// Gives the keys a meaning, or takes it.
    pub(crate) fn offer(&self, offered: Option<Offered>) {
        self.lock().offered = offered;
    }

    /// The key that was pressed since the last time.
    pub(crate) fn take(&self) -> Option<Pressed> {
        self.lock().pressed.take()
    }

    /// The handler of one of the keys, for the line editor.
    pub(crate) fn handler(&self) -> EventHandler {
        EventHandler::Conditional(Box::new(self.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a key answers. Whoever has begun to type a line does not mean it as an answer.
    fn press(&self, key: char, line: &str) -> bool {
        let mut state = self.lock();
        let Some(offered) = state.offered.as_ref().filter(|_| line.is_empty()) else {
            return false;
        };
        let found = offered.keys.iter().find(|offered| offered.key == key);
        let pressed = found.map(|key| Pressed {
            id: offered.id.clone(),
            key: *key,
        });
        if pressed.is_some() {
            // A second key cannot answer the same request by accident.
            state.offered = None;
            state.pressed = pressed;
        }
        state.pressed.is_some()
    }
}

impl ConditionalEventHandler for AnswerKeys {
    fn handle(
        &self,
        event: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let Some(KeyEvent(KeyCode::Char(key), Modifiers::NONE)) = event.get(0) else {
            return None;
        };
        self.press(*key, context.line()).then_some(Cmd::AcceptLine)
    }
}

/// Every key that may be offered.
pub(crate) const ALL: &str = "ymtnlr123456789";

/// The event of a key.
pub(crate) fn event(key: char) -> Event {
    Event::from(KeyEvent(KeyCode::Char(key), Modifiers::NONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_answers_once_and_only_at_an_empty_line() {
        let keys = AnswerKeys::default();
        let id = RequestId::new("1a2b3c4d").unwrap();
        let yes = OfferedKey {
            key: 'y',
            text: None,
        };
        assert!(!keys.press('y', ""), "nothing waits");
        let offered = Offered {
            id: id.clone(),
            keys: vec![yes],
        };
        keys.offer(Some(offered));
        assert!(!keys.press('y', "wh"), "a line is being typed");
        assert!(!keys.press('m', ""), "it is not offered");
        assert!(keys.press('y', ""));
        assert_eq!(keys.take(), Some(Pressed { id, key: yes }));
        assert!(!keys.press('y', ""), "it was answered");
        assert_eq!(keys.take(), None);
    }
}
