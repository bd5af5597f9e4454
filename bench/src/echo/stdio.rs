//! Stdin and stdout, one message per line.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write, stdin, stdout};
use std::os::fd::AsFd;

use super::server::Server;
use crate::Fault;

/// The capacity of a pipe.
const BUFFER: usize = 64 * 1024;

/// Answers until stdin ends. No runtime is needed, because the next line is the only thing to wait
/// for.
pub(super) fn run(server: &Server) -> Result<(), Fault> {
    // The standard library's handles have their own buffers and flush after every line.
    let stdin = File::from(stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(stdout().as_fd().try_clone_to_owned()?);
    let mut lines = BufReader::with_capacity(BUFFER, stdin);
    let mut out = BufWriter::with_capacity(BUFFER, stdout);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some(text) = server.handle(&line).text() {
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n")?;
        }
        line.clear();
        // Messages that have already arrived are answered in the same write.
        if !lines.buffer().contains(&b'\n') {
            out.flush()?;
        }
    }
    Ok(())
}
