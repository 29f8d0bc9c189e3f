//! The cost of `status` in a team of a hundred members.

use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, end, progress};
use protocol::{LiveState, Phase, Recipient, Sender};
use std::path::PathBuf;
use std::time::Instant;
use teamdir::{Durability, MemberGuard, TeamDir, now};

/// How many members there are.
const MEMBERS: usize = 100;
/// How many readings make a block.
const BLOCK: usize = 5;

/// A team whose members all live, held by this process.
struct LargeTeam {
    dir: PathBuf,
    team: TeamDir,
    members: Vec<Recipient>,
    _guards: Vec<MemberGuard>,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    progress(&format!("the status of {MEMBERS} members"));
    let mut section = Section::new(
        "status",
        "the state and the unread mail of each of 100 living members, by a process that has read \
         nothing yet; bare = listing the folder of the members and reading the same files",
    );
    for (what, unread) in [("nothing unread, p50", 0), ("3 unread each, p50", 3)] {
        let large = LargeTeam::create(plan, unread)?;
        let (mut ours, mut bare) = (Blocks::default(), Blocks::default());
        for _ in 0..plan.pick(20, 3) {
            ours.push(times(|| large.status())?);
            bare.push(times(|| large.read())?);
        }
        let ratio = ours.ratio(&bare, 0.5);
        section.rows.push(
            Row::new(what, Value::Seconds(ours.p50()))
                .bare(Value::Seconds(bare.p50()), ratio)
                .bar("under 50 ms", ours.p50() < 0.05),
        );
    }
    section.note("ours also asks the lock of each member, and its journal how far mail was read");
    Ok(section)
}

/// How long each reading of a block takes.
fn times(mut read: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..BLOCK {
        let began = Instant::now();
        read()?;
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(times)
}

impl LargeTeam {
    fn create(plan: &Plan<'_>, unread: usize) -> anyhow::Result<Self> {
        let dir = plan.folder("status")?;
        let names: Vec<String> = (0..MEMBERS).map(|number| format!("m{number}")).collect();
        let texts: Vec<&str> = names.iter().map(String::as_str).collect();
        end::create_team(&dir, &texts)?;
        let team = TeamDir::open(&dir, end::options(Durability::ProcessDeath))?;
        let from = Sender::new("lead");
        let mut large = Self {
            dir,
            members: Vec::new(),
            _guards: Vec::new(),
            team,
        };
        for name in &names {
            let owner: Recipient = name.parse()?;
            let guard = large.team.join(&owner)?;
            let state = LiveState::new(guard.incarnation(), Phase::Idle, now());
            large.team.write_live_state(&guard, &state)?;
            for number in 0..unread {
                let message = end::message(&from, &owner, &number.to_string());
                large.team.send(message)?;
            }
            large.members.push(owner);
            large._guards.push(guard);
        }
        Ok(large)
    }

    fn status(&self) -> anyhow::Result<()> {
        // Opened again, as by each command: nothing is cached.
        let team = TeamDir::open(&self.dir, end::options(Durability::ProcessDeath))?;
        let views = processes::member_views(&team)?;
        anyhow::ensure!(views.len() == MEMBERS, "not all members were seen");
        anyhow::ensure!(
            views.iter().all(processes::MemberView::is_alive),
            "all live"
        );
        Ok(())
    }

    fn read(&self) -> anyhow::Result<()> {
        let layout = self.team.layout();
        let listed = std::fs::read_dir(layout.members_dir())?.count();
        anyhow::ensure!(listed >= MEMBERS, "not all folders were seen");
        let mut bytes = std::fs::read(layout.roster())?.len();
        for owner in &self.members {
            let files = [layout.member_lock(owner), layout.live_state(owner)];
            for path in files {
                bytes += std::fs::read(path)?.len();
            }
            // An inbox that nobody ever wrote to is not there.
            let inbox = std::fs::read(layout.inbox(owner));
            bytes += inbox.map_or(0, |inbox| inbox.len());
        }
        anyhow::ensure!(bytes > 0, "the files are empty");
        Ok(())
    }
}
