//! Measures how well and how fast the search finds tools.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example search_quality -- \
//!     --data CATALOGUES REQUESTS.jsonl [--repeat N] [--misses even]
//! ```
//!
//! CATALOGUES is a folder of JSON files, each with `server`, `instructions` and the `tools` of a
//! `tools/list` result; together they form one index. A line of REQUESTS is
//! `{"id", "query", "right": ["server/tool"], "kind", "lang"}`. A request counts as found if any of
//! its right tools is found. `--repeat` indexes the catalogues N times, for timing only. Plain BM25
//! over split names serves as the baseline.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use narrows_shape::search::{Index, ServerText, ToolText};
use serde_json::Value;

fn main() {
    let mut repeat = 1;
    let mut misses = None;
    let (mut data, mut requests) = (None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--repeat" => {
                let count = arguments.next().expect("--repeat N");
                repeat = count.parse().expect("a number");
            }
            "--misses" => misses = Some(arguments.next().expect("--misses even or odd")),
            "--data" => data = arguments.next(),
            _ => requests = Some(argument),
        }
    }
    let (Some(data), Some(requests)) = (data, requests) else {
        panic!("usage: search_quality --data CATALOGUES REQUESTS.jsonl");
    };
    let catalogue = Catalogue::read(Path::new(&data));
    let requests = read_requests(&requests);
    time(&catalogue, &requests, repeat);
    if repeat > 1 {
        return;
    }
    let index = catalogue.index(1);
    let ours = |query: &str| -> Vec<usize> {
        let hits = index.search(query, None, 50);
        hits.into_iter().map(|hit| hit.tool).collect()
    };
    table("search", &catalogue, &requests, ours);
    let plain = Plain::new(&catalogue);
    table("BM25", &catalogue, &requests, |query| plain.search(query));
    if let Some(half) = misses {
        for request in requests.iter().filter(|request| request.half() == half) {
            let found = ours(&request.query);
            let rank = request.rank(&catalogue, &found);
            if rank.is_none_or(|rank| rank >= 5) {
                let top: Vec<&str> = found
                    .iter()
                    .take(5)
                    .map(|&at| catalogue.tools[at].id.as_str())
                    .collect();
                println!(
                    "{} {} {:?} | {} | {:?} | {}",
                    request.id,
                    request.kind,
                    rank,
                    request.query,
                    request.right,
                    top.join(" ")
                );
            }
        }
    }
}

struct Catalogue {
    servers: Vec<(String, String)>,
    tools: Vec<Tool>,
}

struct Tool {
    server: usize,
    /// The form `server/name`, as in the requests.
    id: String,
    name: String,
    title: String,
    description: String,
    parameters: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl Catalogue {
    fn read(folder: &Path) -> Catalogue {
        let entries = std::fs::read_dir(folder).expect("a folder of catalogues");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        files.sort();
        let mut catalogue = Catalogue {
            servers: Vec::new(),
            tools: Vec::new(),
        };
        for path in files {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let json: Value = serde_json::from_str(&text).expect("JSON");
            let stem = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let name = json["server"].as_str().map_or(stem, str::to_owned);
            let server = catalogue.servers.len();
            for tool in json["tools"].as_array().expect("tools") {
                catalogue.tools.push(Tool::read(server, &name, tool));
            }
            catalogue
                .servers
                .push((name, text_of(&json["instructions"])));
        }
        catalogue
    }

    fn index(&self, repeat: usize) -> Index {
        let mut servers = Vec::new();
        let mut tools = Vec::new();
        for _ in 0..repeat {
            let base = servers.len();
            servers.extend(
                self.servers
                    .iter()
                    .map(|(name, instructions)| ServerText { name, instructions }),
            );
            tools.extend(self.tools.iter().map(|tool| ToolText {
                server: base + tool.server,
                name: &tool.name,
                title: &tool.title,
                description: &tool.description,
                parameters: &tool.parameters,
            }));
        }
        Index::new(&servers, &tools)
    }
}

impl Tool {
    fn read(server: usize, server_name: &str, json: &Value) -> Tool {
        let name = text_of(&json["name"]);
        let title = match &json["title"] {
            Value::String(title) => title.clone(),
            _ => text_of(&json["annotations"]["title"]),
        };
        let properties = json["inputSchema"]["properties"].as_object();
        let parameters = properties.into_iter().flatten().map(|(name, schema)| {
            (
                Cow::Owned(name.clone()),
                Cow::Owned(text_of(&schema["description"])),
            )
        });
        Tool {
            server,
            id: format!("{server_name}/{name}"),
            name,
            title,
            description: text_of(&json["description"]),
            parameters: parameters.collect(),
        }
    }
}

fn text_of(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

struct Request {
    id: String,
    query: String,
    right: Vec<String>,
    kind: String,
    language: String,
}

impl Request {
    /// Returns the half that the request belongs to, by the number in its id. The search is tuned
    /// on one half only.
    fn half(&self) -> &'static str {
        let digits = self
            .id
            .trim_start_matches(|letter: char| !letter.is_ascii_digit());
        match digits.parse::<u32>() {
            Ok(number) if number % 2 == 0 => "even",
            _ => "odd",
        }
    }

    fn rank(&self, catalogue: &Catalogue, found: &[usize]) -> Option<usize> {
        found
            .iter()
            .position(|&at| self.right.contains(&catalogue.tools[at].id))
    }
}

fn read_requests(path: &str) -> Vec<Request> {
    let text = std::fs::read_to_string(path).expect("a file of requests");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let json: Value = serde_json::from_str(line).expect("a request is JSON");
            let right = json["right"].as_array().expect("right tools");
            Request {
                id: text_of(&json["id"]),
                query: text_of(&json["query"]),
                right: right.iter().map(text_of).collect(),
                kind: text_of(&json["kind"]),
                language: text_of(&json["lang"]),
            }
        })
        .collect()
}

fn time(catalogue: &Catalogue, requests: &[Request], repeat: usize) {
    // The first index includes the cost of tables that are loaded once per process.
    let begin = Instant::now();
    drop(catalogue.index(1));
    let first = begin.elapsed();
    let begin = Instant::now();
    let index = catalogue.index(repeat);
    let build = begin.elapsed();
    let mut times = Vec::new();
    for _ in 0..5 {
        for request in requests {
            let begin = Instant::now();
            std::hint::black_box(index.search(&request.query, None, 10));
            times.push(begin.elapsed());
        }
    }
    times.sort();
    let micros = |at: usize| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    println!(
        "{} tools: index in {:.1} ms (first one of {}: {:.1} ms), search in {:.0} µs (median), {:.0} µs (99 of 100)",
        catalogue.tools.len() * repeat,
        build.as_secs_f64() * 1e3,
        catalogue.tools.len(),
        first.as_secs_f64() * 1e3,
        micros(times.len() / 2),
        micros(times.len() * 99 / 100),
    );
}

#[derive(Default)]
struct Score {
    requests: u32,
    first: u32,
    five: u32,
    fifty: u32,
    reciprocal: f64,
}

fn table(
    title: &str,
    catalogue: &Catalogue,
    requests: &[Request],
    search: impl Fn(&str) -> Vec<usize>,
) {
    let mut rows: BTreeMap<(u8, String), Score> = BTreeMap::new();
    for request in requests {
        let rank = request.rank(catalogue, &search(&request.query));
        let keys = [
            (0, "all".to_owned()),
            (1, request.half().to_owned()),
            (2, request.kind.clone()),
            (3, request.language.clone()),
        ];
        for key in keys {
            let row = rows.entry(key).or_default();
            row.requests += 1;
            if let Some(rank) = rank {
                row.first += u32::from(rank == 0);
                row.five += u32::from(rank < 5);
                row.fifty += u32::from(rank < 50);
                row.reciprocal += 1.0 / (rank + 1) as f64;
            }
        }
    }
    println!("{title:12} requests  first   in 5  in 50    MRR");
    for ((_, name), row) in rows {
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(row.requests);
        println!(
            "  {name:10} {:8} {:5.1}% {:5.1}% {:5.1}%  {:.3}",
            row.requests,
            share(row.first),
            share(row.five),
            share(row.fifty),
            row.reciprocal / f64::from(row.requests),
        );
    }
}

/// Plain BM25 over the words of a tool with split names, without stems, weights or synonyms.
struct Plain {
    lengths: Vec<f64>,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Plain {
    fn new(catalogue: &Catalogue) -> Plain {
        let mut plain = Plain {
            lengths: Vec::new(),
            postings: HashMap::new(),
        };
        for (at, tool) in catalogue.tools.iter().enumerate() {
            let mut text = format!("{} {} {}", tool.name, tool.title, tool.description);
            for (name, description) in &tool.parameters {
                text.push_str(&format!(" {name} {description}"));
            }
            let mut counts: HashMap<String, f64> = HashMap::new();
            let words = words(&text);
            for word in &words {
                *counts.entry(word.clone()).or_default() += 1.0;
            }
            for (word, count) in counts {
                plain.postings.entry(word).or_default().push((at, count));
            }
            plain.lengths.push(words.len() as f64);
        }
        plain
    }

    fn search(&self, query: &str) -> Vec<usize> {
        let count = self.lengths.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / count;
        let mut scores = vec![0.0; self.lengths.len()];
        for word in words(query) {
            let Some(postings) = self.postings.get(&word) else {
                continue;
            };
            let with = postings.len() as f64;
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            for &(at, times) in postings {
                let length = 0.25 + 0.75 * self.lengths[at] / mean;
                scores[at] += rarity * times * 2.2 / (times + 1.2 * length);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|&at| scores[at] > 0.0).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        order.truncate(50);
        order
    }
}

/// Returns the words in lower case, with names split at punctuation and capitals.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut before_was_small = false;
    for letter in text.chars() {
        if letter.is_uppercase() && before_was_small {
            spaced.push(' ');
        }
        before_was_small = letter.is_lowercase();
        spaced.push(letter);
    }
    let lower = spaced.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
