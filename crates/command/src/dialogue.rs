//! Commands that talk with their owner over standard input and output.

use std::io::{PipeReader, PipeWriter, pipe};

use crate::job::{Finished, Job, StartError, shell, start_with};
use crate::spec::Spec;

/// The owner's ends of a command's standard input and output.
#[derive(Debug)]
pub struct Dialogue {
    pub input: PipeWriter,
    pub output: PipeReader,
}

/// The standard input and output of a command: nothing, and the captured output, if absent.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) input: Option<PipeReader>,
    pub(crate) output: Option<PipeWriter>,
}

/// Starts a command that talks with its owner. What it writes to standard error is its captured output.
pub fn start_dialogue(
    spec: &Spec,
    done: impl FnOnce(Finished) + Send + 'static,
) -> Result<(Job, Dialogue), StartError> {
    let pipes = || {
        let ((stdin, input), (output, stdout)) = (pipe()?, pipe()?);
        let streams = Streams {
            input: Some(stdin),
            output: Some(stdout),
        };
        Ok((streams, Dialogue { input, output }))
    };
    let (streams, dialogue) = pipes().map_err(|source| StartError::Shell {
        shell: shell().to_owned(),
        folder: spec.folder.clone(),
        source,
    })?;
    Ok((start_with(spec, streams, done)?, dialogue))
}
