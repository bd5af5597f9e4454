//! Finds tools by the words of a task.

use std::borrow::Cow;
use std::collections::HashMap;

/// A server as the search sees it.
#[derive(Clone, Copy, Debug)]
pub struct ServerText<'a> {
    pub name: &'a str,
    pub instructions: &'a str,
}

/// A tool as the search sees it.
#[derive(Clone, Copy, Debug)]
pub struct ToolText<'a> {
    /// Which of the servers offers it.
    pub server: usize,
    pub name: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    /// Names and descriptions.
    pub parameters: &'a [(Cow<'a, str>, Cow<'a, str>)],
}

/// A tool that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Which of the tools the index was made of.
    pub tool: usize,
    pub score: f32,
}

/// Tools by their words.
pub struct Index {
    servers: Vec<usize>,
    postings: HashMap<String, Vec<(usize, f32)>>,
}

impl Index {
    pub fn new(_servers: &[ServerText<'_>], tools: &[ToolText<'_>]) -> Index {
        let mut postings: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            let mut text = format!("{} {} {}", tool.name, tool.title, tool.description);
            for (name, description) in tool.parameters {
                text.push_str(&format!(" {name} {description}"));
            }
            for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
                let list = postings.entry(word.to_owned()).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == at => *count += 1.0,
                    _ => list.push((at, 1.0)),
                }
            }
        }
        postings.remove("");
        Index {
            servers: tools.iter().map(|tool| tool.server).collect(),
            postings,
        }
    }

    pub fn search(&self, query: &str, server: Option<usize>, limit: usize) -> Vec<Hit> {
        let mut scores = vec![0.0; self.servers.len()];
        for word in query.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
            for &(tool, count) in self.postings.get(word).into_iter().flatten() {
                scores[tool] += count;
            }
        }
        let mut hits: Vec<Hit> = scores
            .into_iter()
            .enumerate()
            .filter(|&(tool, score)| {
                score > 0.0 && server.is_none_or(|one| self.servers[tool] == one)
            })
            .map(|(tool, score)| Hit { tool, score })
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.tool.cmp(&b.tool)));
        hits.truncate(limit);
        hits
    }
}
