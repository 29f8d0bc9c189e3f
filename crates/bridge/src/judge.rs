//! How far a stream has got: a pure decision about each frame.

use protocol::{AppliedMark, Frame, FrameId, HostId, StreamEpoch};

/// What becomes of a frame that follows the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the next one.
    Apply,
    /// It was applied already.
    Repeat,
}

/// Why a stream cannot go on. Nothing of the frame was applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    #[error("a frame is for the host '{to}', and this is '{me}'")]
    OtherHost { to: HostId, me: HostId },
    #[error("the frame {found} of '{from}' came where {expected} was to follow")]
    Gap {
        from: HostId,
        expected: u64,
        found: u64,
    },
    #[error(
        "the host '{from}' begins a new stream ({found}), but this host has applied {seq} frames of another \
         one ({known}): it has lost its folder, or two hosts bear the name. Give one of them another name \
         (`team-lead bridge --name NAME`); if it has lost its folder, run `team-lead bridge --forget {from}` here"
    )]
    OtherEpoch {
        from: HostId,
        known: StreamEpoch,
        found: StreamEpoch,
        seq: u64,
    },
    #[error(
        "the host '{from}' continues its stream at {seq} in another way than this host knows: it has come \
         back with an old disk, or two hosts bear the name. Give one of them another name; if it has an old disk, \
         run `team-lead bridge --forget {from}` here and `team-lead bridge --forget {me}` there"
    )]
    Forked { from: HostId, me: HostId, seq: u64 },
    #[error(
        "the host '{from}' has accepted {accepted} frames of this one, and this host has sent {sent} only: this \
         host has an old disk. Run `team-lead bridge --forget {from}` here and `team-lead bridge --forget {me}` there"
    )]
    WentBack {
        from: HostId,
        me: HostId,
        accepted: u64,
        sent: u64,
    },
}

/// Decides about a frame, given how far its stream was applied. Clocks have no say.
pub fn judge(
    me: &HostId,
    mark: Option<&AppliedMark>,
    frame: &Frame,
) -> Result<Verdict, StreamError> {
    let from = || frame.from.clone();
    if frame.to != *me {
        let (to, me) = (frame.to.clone(), me.clone());
        return Err(StreamError::OtherHost { to, me });
    }
    let Some(mark) = mark else {
        return match (frame.seq, &frame.prev) {
            (1, None) => Ok(Verdict::Apply),
            (found, _) => Err(StreamError::Gap {
                from: from(),
                expected: 1,
                found,
            }),
        };
    };
    if frame.epoch != mark.epoch {
        return Err(StreamError::OtherEpoch {
            from: from(),
            known: mark.epoch.clone(),
            found: frame.epoch.clone(),
            seq: mark.seq,
        });
    }
    let forked = || StreamError::Forked {
        from: from(),
        me: me.clone(),
        seq: frame.seq,
    };
    if frame.seq < mark.seq {
        return Ok(Verdict::Repeat);
    }
    if frame.seq == mark.seq {
        return if frame.id == mark.id {
            Ok(Verdict::Repeat)
        } else {
            Err(forked())
        };
    }
    if frame.seq > mark.seq + 1 {
        return Err(StreamError::Gap {
            from: from(),
            expected: mark.seq + 1,
            found: frame.seq,
        });
    }
    if frame.prev.as_ref() == Some(&mark.id) {
        Ok(Verdict::Apply)
    } else {
        Err(forked())
    }
}

/// Whether what another host says it has applied fits what this one has sent: `last` is the number and the
/// id of the last frame of the outbox, `accepted` how far it was accepted, in `epoch`.
pub fn check_peer_mark(
    (me, from): (&HostId, &HostId),
    (epoch, accepted, last): (&StreamEpoch, u64, &(u64, Option<FrameId>)),
    applied: Option<&AppliedMark>,
) -> Result<(), StreamError> {
    let (me, from) = (me.clone(), from.clone());
    match applied {
        // The other host has forgotten what it had accepted.
        None if accepted > 0 => Err(StreamError::Forked {
            from,
            me,
            seq: accepted,
        }),
        None => Ok(()),
        Some(applied) if applied.epoch != *epoch => Err(StreamError::OtherEpoch {
            from: me,
            known: applied.epoch.clone(),
            found: epoch.clone(),
            seq: applied.seq,
        }),
        Some(applied) if applied.seq > last.0 => Err(StreamError::WentBack {
            from,
            me,
            accepted: applied.seq,
            sent: last.0,
        }),
        Some(applied) if applied.seq < accepted => Err(StreamError::Forked {
            from,
            me,
            seq: accepted,
        }),
        Some(_) => Ok(()),
    }
}
