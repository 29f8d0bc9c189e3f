//! A team in a repository, whose members commit.

use integration::{Integration, QueueOutcome, Submitted, Work};
use member::{SandboxSettings, load_settings, open_trees};
use protocol::{AgentName, Recipient, Submission, SubmissionId, SubmissionStatus};
use rules::SubmissionCount;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use teamdir::{Options, TeamDir};
use test_support::{TempTeam, commit_all, git, git_command, init_repository, name_person};

pub(crate) struct World {
    temp: TempTeam,
}

impl World {
    /// A team with these members in a repository with one commit, each with a tree of its own.
    pub(crate) fn new(members: &[&str]) -> Self {
        let world = Self::without_trees(members);
        let trees = world.trees();
        for name in members {
            trees.ensure_tree(&agent(name)).unwrap();
        }
        world
    }

    pub(crate) fn without_trees(members: &[&str]) -> Self {
        Self::begun(TempTeam::new(members, Options::default()))
    }

    /// The same in this folder, which outlives it.
    pub(crate) fn at(folder: &Path) -> Self {
        Self::begun(TempTeam::at(folder, &[], Options::default()))
    }

    fn begun(temp: TempTeam) -> Self {
        let world = Self { temp };
        init_repository(world.folder());
        world.begin();
        world
    }

    fn begin(&self) {
        self.write("shared.txt", "one\ntwo\nthree\n");
        commit_all(self.folder(), "Begin");
    }

    /// A team in a repository that this command of git has made; `None` if git does not know the command.
    pub(crate) fn with(members: &[&str], init: &[&str]) -> Option<Self> {
        let temp = TempTeam::new(members, Options::default());
        let world = Self { temp };
        let made = git_command(world.folder()).args(init).output().unwrap();
        if !made.status.success() {
            return None;
        }
        name_person(world.folder());
        world.begin();
        Some(world)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.temp.workspace()
    }

    pub(crate) fn team(&self) -> &TeamDir {
        self.temp.team()
    }

    /// The trees, by what `team.toml` says now.
    pub(crate) fn trees(&self) -> Integration {
        let settings = load_settings(self.folder()).unwrap();
        open_trees(self.team(), &settings.config, &SandboxSettings::default()).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder().join(name), text).unwrap();
    }

    pub(crate) fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, words: I) -> String {
        git(self.folder(), words)
    }

    pub(crate) fn tree(&self, name: &str) -> PathBuf {
        self.team().layout().tree(&agent(name))
    }

    /// The member writes a file in its tree and commits it.
    pub(crate) fn commit(&self, name: &str, file: &str, text: &str) {
        let tree = self.tree(name);
        std::fs::write(tree.join(file), text).unwrap();
        commit_all(&tree, &format!("{name}: {file}"));
    }

    pub(crate) fn submit(&self, name: &str) -> Submitted {
        self.trees().submit(&agent(name), &Work::default()).unwrap()
    }

    /// Integrates everything, and returns how each submission ended.
    pub(crate) fn integrate(&self) -> Vec<(u64, SubmissionStatus)> {
        match self.trees().run_queue().unwrap() {
            QueueOutcome::Done(ended) => ended
                .into_iter()
                .map(|(id, status)| (id.0, status))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn submission(&self, id: u64) -> Submission {
        self.team().submission(SubmissionId(id)).unwrap()
    }

    pub(crate) fn count(&self) -> SubmissionCount {
        let all = self.team().submissions().unwrap();
        let all: Vec<Submission> = all.into_iter().map(Result::unwrap).collect();
        SubmissionCount::of(&all)
    }

    /// The content of a file in the team's branch.
    pub(crate) fn merged(&self, file: &str) -> String {
        self.git(["show", &format!("refs/heads/team/main:{file}")])
    }

    pub(crate) fn has_merged(&self, file: &str) -> bool {
        let name = format!("refs/heads/team/main:{file}");
        let found = git_command(self.folder())
            .args(["cat-file", "-e", &name])
            .output();
        found.unwrap().status.success()
    }

    /// The unread mail of a member, as it lies in its inbox.
    pub(crate) fn mail(&self, name: &str) -> String {
        let inbox = self.team().layout().inbox(&Recipient::Member(agent(name)));
        std::fs::read_to_string(inbox).unwrap_or_default()
    }

    /// How often the team's branch was moved by a merge.
    pub(crate) fn moves(&self) -> usize {
        let log = self.git(["reflog", "show", "--format=%gs", "refs/heads/team/main"]);
        log.lines()
            .filter(|line| line.starts_with("team: merge"))
            .count()
    }
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}
