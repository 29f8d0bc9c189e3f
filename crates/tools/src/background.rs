//! Background commands.

mod tools;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use command::{End, Finished, Job, Save, SaveWhen};
use tokio::sync::Notify;

use crate::context::{ToolContext, random_id};
use crate::output_folder::BACKGROUND;
use crate::shell;
use crate::tool::ToolError;
use crate::truncate::{Pieces, truncate};

pub use tools::{BackgroundRun, CheckBackground};

/// The maximum number of running commands.
const MOST_RUNNING: usize = 32;
/// The maximum number of finished commands that are kept.
const MOST_KEPT: usize = 200;
/// The maximum number of characters of a result.
const RESULT_LIMIT: usize = 500;

/// The background commands of one agent. Clones share them. When the last clone is dropped, or the
/// process dies, those that still run are killed.
#[derive(Clone, Debug, Default)]
pub struct Background {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    finished: Notify,
}

#[derive(Debug, Default)]
struct State {
    tasks: Vec<Task>,
    /// Completions that were not taken yet.
    queue: Vec<FinishedTask>,
}

#[derive(Debug)]
struct Task {
    id: String,
    command: String,
    output: PathBuf,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// `None` while it is being started, and after it was stopped.
    Running(Option<Job>),
    Over {
        state: TaskState,
        result: String,
    },
}

/// The state of a background command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    Running,
    /// It exited with status 0.
    Completed,
    /// It exited with another status or was killed by a signal.
    Failed,
    Timeout,
    /// Its owner stopped it.
    Stopped,
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Stopped => "stopped",
        })
    }
}

/// A finished background command. It is shown as `[bg:ID] state: result`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedTask {
    /// The id under which it was started.
    pub id: String,
    pub state: TaskState,
    pub command: String,
    /// Both ends of its output.
    pub result: String,
    /// The file with its output.
    pub output: PathBuf,
}

impl FinishedTask {
    /// A command that ended with the process that ran it.
    pub fn lost(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            state: TaskState::Stopped,
            command: String::new(),
            result: "it ended with the process that ran it".to_owned(),
            output: PathBuf::new(),
        }
    }
}

impl fmt::Display for FinishedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The output must not close the block that contains it.
        let result = self.result.replace(CLOSE, "</background-results >");
        write!(f, "[bg:{}] {}: {result}", self.id, self.state)
    }
}

const OPEN: &str = "<background-results>";
const CLOSE: &str = "</background-results>";

/// The completions as one block for the model, or nothing if there are none.
pub fn render_finished(finished: &[FinishedTask]) -> Option<String> {
    if finished.is_empty() {
        return None;
    }
    let lines: Vec<String> = finished.iter().map(FinishedTask::to_string).collect();
    Some(format!("{OPEN}\n{}\n{CLOSE}", lines.join("\n")))
}

impl Background {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a command and returns its id. Its output goes to a file in the output folder.
    pub fn start(
        &self,
        command: &str,
        seconds: u64,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let (id, output) = self.add(command, context)?;
        let save = Save::new(&output, SaveWhen::Always);
        let spec = shell::spec(command, &id, save, context);
        let spec = spec.map(|spec| spec.with_limit(shell::limit(seconds)));
        let done = {
            let (inner, id, context) = (Arc::downgrade(&self.inner), id.clone(), context.clone());
            move |finished: Finished| finish(&inner, &id, &finished, seconds, &context)
        };
        let job = spec.and_then(|spec| {
            command::start(&spec, done).map_err(|error| shell::cannot_start(&error, context))
        });
        let mut state = self.lock();
        match job {
            Ok(job) => {
                // It may have finished already.
                if let Some(Task {
                    phase: Phase::Running(running),
                    ..
                }) = state.task(&id)
                {
                    *running = Some(job);
                }
                Ok(id)
            }
            Err(error) => {
                state.tasks.retain(|task| task.id != id);
                Err(error)
            }
        }
    }

    /// Reserves an id and a file.
    fn add(&self, command: &str, context: &ToolContext) -> Result<(String, PathBuf), ToolError> {
        let mut state = self.lock();
        let running = state.tasks.iter().filter(|task| task.is_running());
        if running.count() >= MOST_RUNNING {
            return Err(ToolError::new(format!(
                "{MOST_RUNNING} background tasks are running already; wait until one has finished"
            )));
        }
        let mut id = random_id();
        while state.task(&id).is_some() {
            id = random_id();
        }
        let output = context.output.file(&format!("{BACKGROUND}{id}.txt"))?;
        state.tasks.push(Task {
            id: id.clone(),
            command: command.to_owned(),
            output: output.clone(),
            phase: Phase::Running(None),
        });
        if state.tasks.len() > MOST_KEPT
            && let Some(oldest) = state.tasks.iter().position(|task| !task.is_running())
        {
            state.tasks.remove(oldest);
        }
        Ok((id, output))
    }

    /// Takes the new completions. Each is returned once.
    pub fn take_finished(&self) -> Vec<FinishedTask> {
        std::mem::take(&mut self.lock().queue)
    }

    /// Waits until there is a completion to take.
    pub async fn finished(&self) {
        loop {
            // Created before the check, so that no completion is missed.
            let notified = self.inner.finished.notified();
            if !self.lock().queue.is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Whether there is a completion to take.
    pub fn has_finished(&self) -> bool {
        !self.lock().queue.is_empty()
    }

    /// The number of running commands.
    pub fn running(&self) -> usize {
        let state = self.lock();
        state.tasks.iter().filter(|task| task.is_running()).count()
    }

    /// Stops a command. Its completion follows. Returns whether there was such a command.
    pub fn stop(&self, id: &str) -> bool {
        let mut state = self.lock();
        match state.task(id) {
            Some(Task {
                phase: Phase::Running(job),
                ..
            }) => {
                drop(job.take());
                true
            }
            Some(_) | None => false,
        }
    }

    /// Stops all commands that run. Their completions follow.
    pub fn stop_all(&self) {
        for task in &mut self.lock().tasks {
            if let Phase::Running(job) = &mut task.phase {
                drop(job.take());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.inner)
    }
}

fn lock(inner: &Inner) -> MutexGuard<'_, State> {
    // No panic under the lock leaves an inconsistent state.
    inner.state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn task(&mut self, id: &str) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.id == id)
    }
}

impl Task {
    fn is_running(&self) -> bool {
        match self.phase {
            Phase::Running(_) => true,
            Phase::Over { .. } => false,
        }
    }

    fn state(&self) -> TaskState {
        match self.phase {
            Phase::Running(_) => TaskState::Running,
            Phase::Over { state, .. } => state,
        }
    }
}

/// Called once for each command, by its supervising thread.
fn finish(inner: &Weak<Inner>, id: &str, finished: &Finished, seconds: u64, context: &ToolContext) {
    let Some(inner) = inner.upgrade() else {
        return;
    };
    let state = match finished.end {
        End::Exited(0) => TaskState::Completed,
        End::Exited(_) | End::Signaled(_) | End::Lost => TaskState::Failed,
        End::TimedOut => TaskState::Timeout,
        End::Cancelled => TaskState::Stopped,
    };
    let result = shell::report(finished, seconds, context).text;
    {
        let mut all = lock(&inner);
        let Some(task) = all.task(id) else {
            return;
        };
        let path = context.show_path(&task.output);
        let short = truncate(&Pieces::whole(&result), RESULT_LIMIT, Some(&path));
        let entry = FinishedTask {
            id: task.id.clone(),
            state,
            command: task.command.clone(),
            result: short,
            output: task.output.clone(),
        };
        task.phase = Phase::Over { state, result };
        all.queue.push(entry);
    }
    inner.finished.notify_waiters();
}
