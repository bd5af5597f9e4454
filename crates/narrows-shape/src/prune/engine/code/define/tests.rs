use super::*;

/// Returns the name that the first line defines, preceded by `class` for a container.
fn defined(text: &str) -> String {
    let lines = Lines::new(text);
    match definition(&lines, 0) {
        Some(found) if found.kind == BlockKind::Container => {
            format!("class {}", lines.line(0)[found.name].trim())
        }
        Some(found) => lines.line(0)[found.name].to_owned(),
        None => String::new(),
    }
}

#[track_caller]
fn check(expected: &str, texts: &[&str]) {
    for text in texts {
        assert_eq!(defined(text), expected, "{text}");
    }
}

#[test]
fn functions_of_many_languages_are_recognised() {
    check(
        "read_all",
        &[
            "def read_all(self):",
            "    async def read_all(self,",
            "pub(crate) unsafe fn read_all<'a>(",
            "    pub const fn read_all() -> u8 {",
            "pub extern \"C\" fn read_all() {",
            "func (r *Reader) read_all() error {",
            "export default async function read_all() {",
            "function* read_all() {",
            "fun read_all(): Int {",
            "const read_all = async (a, b) => {",
            "  read_all: function (a) {",
            "Reader.prototype.read_all = function() {",
            "let read_all = x => x + 1;",
            "  async read_all(a, { b }) {",
            "  static read_all(a = f()) {",
            "public static <T> List<T> read_all(String a) {",
            "static int read_all(const char *path)\n{",
            "  read_all(\n    a,\n    b\n  ) {",
            "macro_rules! read_all {",
        ],
    );
}

#[test]
fn containers_of_functions_are_recognised() {
    check(
        "class Reader",
        &[
            "class Reader(Base):",
            "export class Reader extends Base {",
            "pub struct Reader<T> {",
            "interface Reader {",
        ],
    );
    check("class Read for Reader {", &["impl Read for Reader {"]);
}

#[test]
fn calls_and_statements_are_not_definitions() {
    check(
        "",
        &[
            "if (a) {",
            "for (const a of b) {",
            "} else if (ready(a)) {",
            "return read_all(a)",
            "read_all(a);",
            "describe('it', () => {",
            "read_all(a, function () {",
            "  read_all(\n    a,\n  );",
            "const a = read_all(b);",
            "module.exports = {",
            "class = 3",
            "x == (a => b)",
            "\n",
        ],
    );
}
