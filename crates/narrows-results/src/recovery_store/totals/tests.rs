use std::os::unix::fs::PermissionsExt;

use narrows_testkit::Folder;

use super::*;

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

fn age(folder: &Folder, name: &str, age: Duration) {
    let file = fs::File::options()
        .write(true)
        .open(folder.file(name))
        .unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn process_overwrites_only_its_own_totals() {
    let folder = Folder::new();
    folder.write("totals-1-2-3.json", "{\"of\":\"another\"}");
    age(&folder, "totals-1-2-3.json", Duration::from_secs(5));
    write_totals(folder.path(), "{\"n\":1}").unwrap();
    write_totals(folder.path(), "{\"n\":2}").unwrap();
    assert_eq!(
        read_totals(folder.path()),
        ["{\"n\":2}", "{\"of\":\"another\"}"]
    );
    assert_eq!(names(&folder).len(), 2, "no part is left");
    let own = folder.file(&own_name().lock());
    assert_eq!(
        fs::metadata(own).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn invalid_totals_are_ignored() {
    let folder = Folder::new();
    folder.write("totals-1-2-3.part", "{\"half");
    folder.write("totals-1-2-4.json", b"\xff\xfe");
    folder.write("totals-1-2-5.json", "x".repeat(MAX_BYTES + 1));
    folder.write("prn_01ARY000000000000000000042.text", "{}");
    fs::create_dir(folder.file("totals-1-2-6.json")).unwrap();
    assert_eq!(read_totals(folder.path()), [""; 0]);
    assert_eq!(read_totals(&folder.file("nowhere")), [""; 0]);
    let long = "x".repeat(MAX_BYTES + 1);
    assert!(write_totals(folder.path(), &long).is_err());
}

#[test]
fn totals_older_than_a_month_are_removed() {
    let folder = Folder::new();
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    for (name, days) in [
        ("totals-1-1-1.json", 31),
        ("totals-1-1-2.json", 29),
        ("totals-1-1-3.part", 1),
        ("totals-1-1-4.part", 0),
        ("other.json", 99),
    ] {
        folder.write(name, "{}");
        age(&folder, name, DAY * days);
    }
    remove_old(folder.path(), SystemTime::now());
    assert_eq!(
        names(&folder),
        ["other.json", "totals-1-1-2.json", "totals-1-1-4.part"]
    );
}
