use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use narrows_testkit::{Folder, processes, until};
use rustix::process::Signal;

use super::table::{Process, TableEntry};
use super::{MARK, ProcessTree};

/// A child process that runs `sh` as a group leader, killed when dropped.
struct TestGroup(Child);

impl TestGroup {
    fn start(script: &str, mark: Option<&str>) -> TestGroup {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(Stdio::null())
            .stdin(Stdio::null());
        if let Some(mark) = mark {
            command.env(MARK, mark);
        }
        TestGroup(command.process_group(0).spawn().expect("sh starts"))
    }

    fn tree(&self, mark: &str) -> ProcessTree {
        ProcessTree::of(self.0.id(), mark)
    }

    fn reap(&mut self) {
        let _ = self.0.wait();
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let _ = self.0.kill();
        self.reap();
    }
}

async fn pid(folder: &Folder, name: &str) -> u32 {
    folder
        .read_when_there(name)
        .await
        .trim()
        .parse()
        .expect("a pid")
}

#[test]
fn stat_line_is_parsed_for_any_process_name() {
    let rest =
        "S 7 42 42 0 -1 4194560 116 0 0 0 0 0 0 0 20 0 1 0 12345 2500000 200 18446744073709551615";
    for name in ["sh", "a b", ") R 1 2 (", "(((", "\u{fffd}"] {
        let entry = TableEntry::parse(format!("42 ({name}) {rest}").as_bytes()).expect("an entry");
        assert_eq!(
            entry.process,
            Process {
                pid: 42,
                started: 12345
            }
        );
        assert_eq!((entry.parent, entry.group, entry.alive), (7, 42, true));
    }
    let zombie = TableEntry::parse(format!("42 (sh) {}", rest.replacen('S', "Z", 1)).as_bytes());
    assert!(zombie.is_some_and(|entry| !entry.alive));
    for broken in ["", "42", "42 (sh", "42 (sh) S 7", "x (sh) S 7 42"] {
        assert!(TableEntry::parse(broken.as_bytes()).is_none(), "{broken:?}");
    }
}

#[tokio::test]
async fn reparented_child_is_recognised() {
    let folder = Folder::new();
    // The process in the middle exits, and its child remains in a session of its own.
    let script = format!(
        "env -u {MARK} setsid sh -c 'sleep 1000 & echo $! > {}; read x < {}' & wait",
        folder.file("pid").display(),
        folder.file("go").display()
    );
    Command::new("mkfifo")
        .arg(folder.file("go"))
        .status()
        .expect("mkfifo runs");
    let leader = TestGroup::start(&script, None);
    let sleep = pid(&folder, "pid").await;
    let mut tree = leader.tree("unused");
    tree.collect();
    folder.write("go", "\n");
    drop(leader);
    let adopted = || !tree_has(&tree, sleep) || processes::children(1).contains(&sleep);
    until("init has adopted it", adopted).await;
    assert!(processes::is_alive(sleep));
    tree.signal(Signal::KILL);
    processes::gone([sleep]).await;
    assert!(tree.is_gone());
}

fn tree_has(tree: &ProcessTree, pid: u32) -> bool {
    tree.members
        .iter()
        .any(|member| u32::try_from(member.process.pid) == Ok(pid))
}

#[tokio::test]
async fn processes_outside_the_group_are_found_by_the_mark() {
    let folder = Folder::new();
    let file = folder.file("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {}; exec sleep 1000' &",
        file.display()
    );
    let mut leader = TestGroup::start(&script, Some("mark.7"));
    let orphan = pid(&folder, "pid").await;
    leader.reap();

    let mut stranger = leader.tree("mark.70");
    assert!(
        stranger.is_gone(),
        "another mark that begins the same is another tree's"
    );
    stranger.signal(Signal::KILL);
    assert!(processes::is_alive(orphan));

    for mark in ["mark", "mark.7"] {
        assert!(!ProcessTree::new(mark).is_gone(), "{mark}");
    }
    leader.tree("mark.7").signal(Signal::KILL);
    processes::gone([orphan]).await;
}

#[tokio::test]
async fn reused_pid_is_not_signalled() {
    let mut leader = TestGroup::start("exec sleep 1000", None);
    let pid = leader.0.id();
    let mut tree = leader.tree("unused");
    tree.collect();
    // Simulates that another process had this pid when the tree was read.
    for group in &mut tree.groups {
        group.started = group.started.map(|started| started - 1);
    }
    for member in &mut tree.members {
        member.process.started -= 1;
    }
    assert!(tree.is_gone());
    tree.signal(Signal::KILL);
    assert!(processes::is_alive(pid));
    leader.0.kill().expect("it lives");
    leader.reap();
}

#[test]
fn special_process_groups_are_never_watched() {
    let mut tree = ProcessTree::new("unused");
    for group in [0, 1, u32::MAX] {
        tree.add_group(group);
    }
    assert!(tree.groups.is_empty());
    tree.signal(Signal::KILL);
    assert!(tree.is_gone());
}

#[tokio::test]
async fn zombie_counts_as_exited() {
    let leader = TestGroup::start("exit 0", None);
    let mut tree = leader.tree("unused");
    until("it has ended", || tree.is_gone()).await;
}
