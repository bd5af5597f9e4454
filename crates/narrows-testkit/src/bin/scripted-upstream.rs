//! The scripted MCP server of the tests: `scripted-upstream [--http] FOLDER`. The script in the
//! folder defines its behaviour, see `narrows_testkit::scripted`.

use std::path::Path;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut listening = false;
    let mut folder = None;
    for argument in std::env::args_os().skip(1) {
        if argument == "--http" {
            listening = true;
        } else {
            folder = Some(argument);
        }
    }
    let folder =
        folder.ok_or_else(|| std::io::Error::other("usage: scripted-upstream [--http] FOLDER"))?;
    narrows_testkit::scripted::run(Path::new(&folder), listening).await
}
