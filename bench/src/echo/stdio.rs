//! Stdin and stdout, one message a line.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write, stdin, stdout};
use std::os::fd::AsFd;

use super::server::Server;
use crate::Fault;

/// As much as a pipe holds.
const BUFFER: usize = 64 * 1024;

/// Answers until stdin ends. Without a runtime: there is nothing to wait for
/// but the next line.
pub(super) fn run(server: &Server) -> Result<(), Fault> {
    // The library's own handles have buffers of their own, and write by lines.
    let stdin = File::from(stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(stdout().as_fd().try_clone_to_owned()?);
    let mut lines = BufReader::with_capacity(BUFFER, stdin);
    let mut out = BufWriter::with_capacity(BUFFER, stdout);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some(text) = server.hear(&line).text() {
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n")?;
        }
        line.clear();
        // What has come already is answered in the same write.
        if !lines.buffer().contains(&b'\n') {
            out.flush()?;
        }
    }
    Ok(())
}
