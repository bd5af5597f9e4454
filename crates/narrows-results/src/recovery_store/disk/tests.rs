//! Tests with real folders. Tests of killed processes start this test binary again to run one of
//! its ignored tests.

use std::process::{Command, Output, Stdio};

use narrows_testkit::Folder;
use rustix::process::{Signal, getpid, kill_process};

use super::*;
use crate::recovery_store;

const KB: usize = 1_000;
const PLENTY: usize = 100_000 * KB;

fn settings(max_bytes: usize) -> RecoverySettings {
    RecoverySettings {
        ttl: Duration::from_secs(600),
        max_bytes,
        path: None,
    }
}

fn open(folder: &Path, max_bytes: usize) -> DiskStore {
    DiskStore::open(folder, &settings(max_bytes)).unwrap()
}

/// A manual clock. Operations take no time for it unless `step` is set.
#[derive(Clone)]
struct ManualClock(Arc<Mutex<Times>>);

struct Times {
    now: SystemTime,
    instant: Instant,
    /// The time that passes whenever the monotonic clock is read.
    step: Duration,
}

impl ManualClock {
    fn new() -> ManualClock {
        ManualClock(Arc::new(Mutex::new(Times {
            now: SystemTime::now(),
            instant: Instant::now(),
            step: Duration::ZERO,
        })))
    }

    fn forward(&self, seconds: u64) {
        self.0.lock().now += Duration::from_secs(seconds);
    }

    fn back(&self, seconds: u64) {
        self.0.lock().now -= Duration::from_secs(seconds);
    }

    fn open(&self, folder: &Path, max_bytes: usize) -> DiskStore {
        DiskStore::open_at(folder, &settings(max_bytes), Box::new(self.clone())).unwrap()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.0.lock().now
    }

    fn instant(&self) -> Instant {
        let mut times = self.0.lock();
        let step = times.step;
        times.instant += step;
        times.instant
    }
}

fn keep(store: &dyn RecoveryStore, text: &str) -> Receipt {
    store.keep(&Owner::pruner(None), text.into()).unwrap()
}

fn fetch(store: &dyn RecoveryStore, receipt: &Receipt) -> Option<Arc<str>> {
    store.fetch(&Owner::pruner(None), receipt.as_str())
}

fn there(store: &dyn RecoveryStore, receipt: &Receipt) -> bool {
    fetch(store, receipt).is_some()
}

/// Generates text that is hardly compressible.
fn noise(length: usize) -> String {
    (0..length).map(|_| fastrand::alphanumeric()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Returns the disk usage of all files. It is computed from their lengths, because file systems may
/// allocate blocks later.
fn used(folder: &Path) -> u64 {
    let blocks = |name: &String| {
        fs::metadata(folder.join(name))
            .unwrap()
            .len()
            .div_ceil(4_096)
    };
    let size = |name: &String| blocks(name) * 4_096;
    names(folder).iter().map(size).sum()
}

/// Runs an ignored test of this file in a separate process.
fn process(before: &[&str], test: &str, folder: &Path) -> io::Result<Output> {
    let module = module_path!().split_once("::").expect("a crate first").1;
    let own = std::env::current_exe().expect("we run");
    let own = own.to_str().expect("a path in UTF-8");
    let test = format!("{module}::{test}");
    let words = [own, "--exact", &test, "--ignored", "--nocapture"];
    let words = [before, &words].concat();
    Command::new(words[0])
        .args(&words[1..])
        .env("NARROWS_TEST_FOLDER", folder)
        .stdin(Stdio::null())
        .output()
}

fn folder_of_process() -> PathBuf {
    let folder = std::env::var_os("NARROWS_TEST_FOLDER");
    folder.expect("another test starts this one").into()
}

#[test]
fn text_is_returned_until_it_expires() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    let store = clock.open(folder.path(), PLENTY);
    let receipt = keep(&store, "one\ntwo");
    let empty = keep(&store, "");
    clock.forward(599);
    assert_eq!(fetch(&store, &receipt).as_deref(), Some("one\ntwo"));
    assert_eq!(fetch(&store, &empty).as_deref(), Some(""));
    let later = clock.open(folder.path(), PLENTY);
    assert_eq!(fetch(&later, &receipt).as_deref(), Some("one\ntwo"));
    clock.forward(1);
    assert_eq!(fetch(&store, &receipt), None);
    assert_eq!(fetch(&later, &receipt), None);
    later.purge();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn clock_set_back_does_not_extend_expiry_forever() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    let store = clock.open(folder.path(), PLENTY);
    let (fetched, purged, found) = (
        keep(&store, "fetched"),
        keep(&store, "purged"),
        keep(&store, "found"),
    );
    clock.back(86_400);
    assert!(there(&store, &fetched), "its time runs from now");
    clock.forward(1);
    store.purge();
    clock.forward(599);
    assert!(!there(&store, &fetched));
    assert!(there(&store, &purged) && there(&store, &found));
    clock.forward(1);
    assert!(!there(&store, &purged));
    assert!(!there(&clock.open(folder.path(), PLENTY), &found));
}

#[test]
fn oldest_texts_are_evicted_and_free_their_space() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    // Ten kilobytes take three blocks.
    let store = clock.open(folder.path(), 3 * 3 * 4_096);
    let mut receipts = Vec::new();
    for _ in 0..6 {
        receipts.push(keep(&store, &noise(10 * KB)));
        clock.forward(1);
    }
    // Fetching a text does not extend its lifetime.
    assert!(there(&store, &receipts[3]));
    let found: Vec<bool> = receipts.iter().map(|one| there(&store, one)).collect();
    assert_eq!(found, [false, false, false, true, true, true]);
    let newest = keep(&store, &noise(10 * KB));
    assert!(there(&store, &newest) && !there(&store, &receipts[3]));
    assert_eq!(names(folder.path()).len(), 3);
    assert!(used(folder.path()) <= 3 * 3 * 4_096);
    // Files left by a process with a higher limit are reduced to the new limit.
    let small = clock.open(folder.path(), 3 * 4_096);
    assert_eq!(names(folder.path()).len(), 1);
    assert!(there(&small, &newest));
}

#[test]
fn oversized_text_evicts_nothing() {
    let folder = Folder::new();
    let store = open(folder.path(), 8 * 4_096);
    let small = keep(&store, "small");
    let large = noise(60 * KB).into();
    assert_eq!(
        store.keep(&Owner::pruner(None), large),
        Err(StoreUnavailable)
    );
    assert!(there(&store, &small));
    // The limit applies to the size on disk.
    let repeated = "the same line\n".repeat(10_000);
    let receipt = keep(&store, &repeated);
    assert_eq!(fetch(&store, &receipt).as_deref(), Some(&repeated[..]));
    assert!(there(&store, &small));
}

#[test]
fn zero_ttl_stores_nothing() {
    let folder = Folder::new();
    let mut settings = settings(PLENTY);
    settings.ttl = Duration::ZERO;
    let store = DiskStore::open(folder.path(), &settings).unwrap();
    let kept = store.keep(&Owner::pruner(None), "text".into());
    assert_eq!(kept, Err(StoreUnavailable));
}

#[test]
fn text_is_returned_only_to_its_owner() {
    let folder = Folder::new();
    let store = open(folder.path(), PLENTY);
    let alice = Owner::client(None, "default", Some("review"));
    let receipt = store.keep(&alice, "text".into()).unwrap();
    let text = || store.fetch(&alice, receipt.as_str());
    assert_eq!(text().as_deref(), Some("text"));
    for other in [
        Owner::pruner(None),
        Owner::client(None, "default", None),
        Owner::client(None, "other", Some("review")),
    ] {
        assert_eq!(store.fetch(&other, receipt.as_str()), None, "{other:?}");
    }
    assert!(store.fetch(&alice, receipt.as_str()).is_some());
    assert!(
        store.warned.lock().is_empty(),
        "which the log does not tell"
    );
}

#[test]
fn files_are_readable_only_by_the_owner() {
    let folder = Folder::new();
    let inside = folder.file("made/by/us");
    keep(&open(&inside, PLENTY), "secret");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inside), 0o700);
    let texts = names(&inside);
    assert_eq!(texts.len(), 1);
    assert_eq!(mode(&inside.join(&texts[0])), 0o600);
}

#[test]
fn invalid_receipts_open_no_file() {
    let folder = Folder::new();
    let inside = folder.file("store");
    let store = open(&inside, PLENTY);
    let receipt = keep(&store, "text");
    let up = format!("../store/{receipt}");
    let small = receipt.as_str().to_ascii_lowercase();
    let long = format!("{receipt}0");
    for other in ["", "prn_", "prn_nope", "..", "/", &up, &small, &long] {
        assert_eq!(store.fetch(&Owner::pruner(None), other), None, "{other}");
    }
    // A link with a valid name is not followed.
    let other = Receipt::new();
    let text = store.path(receipt.as_str());
    std::os::unix::fs::symlink(text, store.path(other.as_str())).unwrap();
    assert_eq!(fetch(&store, &other), None);
    store.purge();
    assert!(there(&store, &receipt));
}

#[test]
fn processes_share_a_folder_and_its_limits() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    let room = 4 * 3 * 4_096;
    let stores = [
        clock.open(folder.path(), room),
        clock.open(folder.path(), room),
    ];
    let mut receipts = Vec::new();
    for n in 0..8 {
        clock.forward(1);
        receipts.push(keep(&stores[n % 2], &noise(10 * KB)));
        assert!(used(folder.path()) <= room as u64);
    }
    for store in &stores {
        let found: Vec<bool> = receipts.iter().map(|one| there(store, one)).collect();
        assert_eq!(found[..4], [false; 4]);
        assert_eq!(found[4..], [true; 4]);
    }
}

/// Scanning a folder with very many files takes long.
#[test]
fn slow_folder_is_scanned_less_often() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    clock.0.lock().step = Duration::from_secs(1);
    let stores = [
        clock.open(folder.path(), PLENTY),
        clock.open(folder.path(), PLENTY),
    ];
    keep(&stores[1], "another's");
    clock.forward(19);
    keep(&stores[0], "text");
    assert_eq!(stores[0].usage().texts, 1);
    clock.forward(1);
    keep(&stores[0], "text");
    assert_eq!(stores[0].usage().texts, 3);
}

#[test]
fn concurrent_reads_and_writes_succeed() {
    let folder = Folder::new();
    let stores = [open(folder.path(), PLENTY), open(folder.path(), PLENTY)];
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let stores = &stores;
            scope.spawn(move || {
                for _ in 0..20 {
                    let text = noise(20 * KB);
                    let receipt = keep(&stores[thread % 2], &text);
                    let other = &stores[(thread + 1) % 2];
                    assert_eq!(fetch(other, &receipt).as_deref(), Some(&text[..]));
                    other.purge();
                }
            });
        }
    });
    assert_eq!(names(folder.path()).len(), 160);
}

#[test]
#[ignore = "the body of a process that is killed, started by another test"]
fn killed_process() {
    let store = recovery_store::open(&RecoverySettings {
        path: Some(folder_of_process()),
        ..settings(PLENTY)
    });
    // Start a new line, whatever the test runner printed before.
    println!("\nreceipt {}", keep(&*store, &"line\n".repeat(KB)));
    let _ = kill_process(getpid(), Signal::KILL);
}

#[test]
fn receipts_survive_a_killed_process() {
    let folder = Folder::new();
    let inside = folder.file("store");
    for _ in 0..3 {
        let output = process(&[], "killed_process", &inside).unwrap();
        assert_eq!(output.status.code(), None, "ended by a signal");
        let said = String::from_utf8(output.stdout).unwrap();
        let receipt = said.lines().find_map(|line| line.strip_prefix("receipt "));
        let store = open(&inside, PLENTY);
        let text = store.fetch(&Owner::pruner(None), receipt.expect("a receipt"));
        assert_eq!(text.as_deref(), Some(&"line\n".repeat(KB)[..]));
    }
    assert_eq!(names(&inside).len(), 3);
}

#[test]
fn partial_files_of_killed_processes_are_removed() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    let part = format!("{}.part", Receipt::new());
    folder.write(&part, "half of");
    let store = clock.open(folder.path(), PLENTY);
    assert_eq!(names(folder.path()), [part], "somebody may be at it");
    clock.forward(120);
    store.purge();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
#[ignore = "the body of a process with a small disk, started by another test"]
fn small_disk_process() {
    let folder = folder_of_process();
    let store = open(&folder, PLENTY);
    let mut receipts = Vec::new();
    let text = noise(100 * KB);
    while let Ok(receipt) = store.keep(&Owner::pruner(None), text.as_str().into()) {
        receipts.push(receipt);
        assert!(receipts.len() < 100, "the disk is small");
    }
    assert!(receipts.len() > 3, "there is some room");
    // Opening a store on a full disk succeeds, and no text is lost.
    let second = open(&folder, PLENTY);
    for _ in 0..5 {
        let kept = second.keep(&Owner::pruner(None), text.as_str().into());
        assert_eq!(kept, Err(StoreUnavailable));
    }
    assert!(receipts.iter().all(|receipt| there(&second, receipt)));
    assert_eq!(names(&folder).len(), receipts.len(), "no part is left");
    let kinds: Vec<_> = second.warned.lock().iter().copied().collect();
    assert_eq!(kinds, [("storing a text", ErrorKind::StorageFull)]);
    for receipt in &receipts[..2] {
        fs::remove_file(store.path(receipt.as_str())).unwrap();
    }
    let receipt = keep(&store, &text);
    assert_eq!(fetch(&second, &receipt).as_deref(), Some(&text[..]));
    println!("\nfilled and emptied");
}

/// Uses a file system of one megabyte in a separate mount namespace. If this is not permitted, the
/// test is skipped with a message.
#[test]
fn full_disk_stores_nothing_until_space_is_free() {
    let folder = Folder::new();
    let script = "mount -t tmpfs -o size=1m tmpfs \"$NARROWS_TEST_FOLDER\" || exit 77; exec \"$@\"";
    let before = ["unshare", "-rm", "sh", "-c", script, "sh"];
    let output = process(&before, "small_disk_process", folder.path());
    match output {
        Ok(output) if matches!(output.status.code(), Some(0 | 101)) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("\nfilled and emptied\n"), "{said}{errors}");
        }
        other => eprintln!("no small file system can be mounted here: {other:?}"),
    }
}

#[test]
fn unavailable_folder_is_retried() {
    let folder = Folder::new();
    let inside = folder.file("store");
    let store = open(&inside, PLENTY);
    fs::remove_dir(&inside).unwrap();
    folder.write("store", "a file in place of the folder");
    for _ in 0..3 {
        let kept = store.keep(&Owner::pruner(None), "text".into());
        assert_eq!(kept, Err(StoreUnavailable));
        assert_eq!(fetch(&store, &Receipt::new()), None);
        store.purge();
    }
    assert!(store.warned.lock().len() <= 3, "not one for each text");
    assert_eq!(folder.read("store"), "a file in place of the folder");
    fs::remove_file(&inside).unwrap();
    // The folder is created again, too.
    let receipt = keep(&store, "text");
    assert_eq!(fetch(&store, &receipt).as_deref(), Some("text"));
}

#[test]
fn missing_folder_falls_back_to_memory() {
    let folder = Folder::new();
    let path = folder.write("store", "a file in place of the folder");
    let settings = RecoverySettings {
        path: Some(path),
        ..settings(PLENTY)
    };
    let store = recovery_store::open(&settings);
    let receipt = keep(&*store, "text");
    assert_eq!(fetch(&*store, &receipt).as_deref(), Some("text"));
    assert_eq!(folder.read("store"), "a file in place of the folder");
}

#[test]
fn damaged_texts_are_quarantined_and_expire() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    let store = clock.open(folder.path(), PLENTY);
    let good = keep(&store, "good");
    let garbage = [
        Vec::new(),
        b"narrows1".to_vec(),
        vec![0; 10 * KB],
        noise(10 * KB).into_bytes(),
        fs::read(store.path(good.as_str())).unwrap(),
    ];
    for bytes in garbage {
        let receipt = Receipt::new();
        fs::write(store.path(receipt.as_str()), bytes).unwrap();
        assert_eq!(fetch(&store, &receipt), None);
        assert!(folder.file(&format!("{receipt}.broken")).exists());
        assert_eq!(fetch(&store, &receipt), None);
    }
    let kinds: Vec<_> = store.warned.lock().iter().copied().collect();
    assert_eq!(kinds, [("reading a text", ErrorKind::InvalidData)]);
    assert_eq!(fetch(&store, &good).as_deref(), Some("good"));
    // Damaged files count toward the limit and are removed like others.
    assert!(used(folder.path()) > 4 * 4_096);
    let store = clock.open(folder.path(), 4 * 4_096);
    assert!(used(folder.path()) <= 4 * 4_096);
    clock.forward(601);
    store.purge();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn foreign_files_are_kept() {
    let folder = Folder::new();
    let foreign = ["notes.text", "prn_1.text", "prn_x.part", "README"];
    for name in foreign {
        let file = folder.write(name, noise(10 * KB));
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let directory = format!("{}.text", Receipt::new());
    fs::create_dir(folder.file(&directory)).unwrap();
    let store = open(folder.path(), 4_096);
    let first = keep(&store, "first");
    let second = keep(&store, "second");
    assert!(!there(&store, &first) && there(&store, &second));
    let left = names(folder.path());
    assert_eq!(left.len(), 6, "{left:?}");
    assert!(
        foreign
            .iter()
            .all(|name| left.iter().any(|file| file == name))
    );
}

#[test]
fn text_is_not_read_again_for_each_page() {
    let (folder, clock) = (Folder::new(), ManualClock::new());
    let store = clock.open(folder.path(), PLENTY);
    let receipts = ["one", "two", "three"].map(|text| keep(&store, text));
    let first = fetch(&store, &receipts[0]).unwrap();
    let again = |n: usize| fetch(&store, &receipts[n]).unwrap();
    assert!(Arc::ptr_eq(&first, &again(0)));
    again(1);
    assert!(Arc::ptr_eq(&first, &again(0)));
    again(2);
    assert!(!Arc::ptr_eq(&first, &again(0)), "two are remembered");
    // Removed and expired texts are not served from the cache.
    fs::remove_file(store.path(receipts[0].as_str())).unwrap();
    assert!(!there(&store, &receipts[0]));
    let weak = Arc::downgrade(&again(2));
    clock.forward(600);
    assert!(!there(&store, &receipts[2]));
    store.purge();
    assert!(weak.upgrade().is_none());
}
