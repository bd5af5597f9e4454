//! The scripted server on stdin and stdout.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Stdin};
use tokio::sync::mpsc;

use super::Framing;
use super::server::{Output, Outputs, ScriptedServer};

pub(super) async fn serve(server: Arc<ScriptedServer>) -> io::Result<()> {
    let (out, outputs) = mpsc::unbounded_channel();
    let writer = tokio::spawn(write(server.script.framing, outputs));
    server.start(&out).await;
    let mut stdin = BufReader::new(tokio::io::stdin());
    while let Some(message) = read(server.script.framing, &mut stdin).await? {
        server.record(&message);
        server.handle(&message, &out);
    }
    if server.script.ignore_eof {
        std::future::pending::<()>().await;
    }
    writer.abort();
    // Tokio's stdin would keep the runtime alive, and running tasks should be dropped.
    std::process::exit(0)
}

async fn read(framing: Framing, stdin: &mut BufReader<Stdin>) -> io::Result<Option<String>> {
    let mut line = String::new();
    match framing {
        Framing::Newline => {
            let count = stdin.read_line(&mut line).await?;
            Ok((count > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
        }
        Framing::ContentLength => {
            let mut length = 0;
            loop {
                line.clear();
                if stdin.read_line(&mut line).await? == 0 {
                    return Ok(None);
                }
                match line.trim().split_once(':') {
                    Some((_, value)) => length = value.trim().parse().map_err(io::Error::other)?,
                    None => break,
                }
            }
            let mut body = vec![0; length];
            stdin.read_exact(&mut body).await?;
            Ok(Some(String::from_utf8_lossy(&body).into_owned()))
        }
    }
}

async fn write(framing: Framing, mut outputs: Outputs) {
    let mut stdout = tokio::io::stdout();
    while let Some(output) = outputs.recv().await {
        let bytes = match output {
            Output::Answer(text) | Output::Message(text) => frame(framing, &text).into(),
            Output::Bytes(bytes) => bytes,
            _ => continue,
        };
        if stdout.write_all(&bytes).await.is_err() || stdout.flush().await.is_err() {
            return;
        }
    }
}

fn frame(framing: Framing, text: &str) -> String {
    match framing {
        Framing::Newline => format!("{text}\n"),
        Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
    }
}
