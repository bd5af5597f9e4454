//! A closed-loop client: every session has one call in flight, and sends the next one when a
//! correct answer has arrived. Prints one line of JSON.

mod channel;
mod events;
mod session;
mod usage;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hyper::Uri;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::channel::Transport;
use self::session::{Expected, Session};
use self::usage::Usage;
use crate::Fault;

/// The time limit for a server to list the tool.
const START: Duration = Duration::from_secs(15);
/// The time limit for outstanding answers at the end.
const GRACE: Duration = Duration::from_secs(10);

/// Call a tool repeatedly and measure
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, value_enum)]
    transport: Transport,
    #[arg(long)]
    url: Uri,
    #[arg(long, default_value_t = 1)]
    sessions: usize,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Seconds of load before the measurement starts
    #[arg(long, default_value_t = 0.4)]
    warmup: f64,
    /// The end of the tool's name, because a gateway adds a prefix
    #[arg(long)]
    tool: String,
    /// Tool arguments as JSON
    #[arg(long, default_value = "{}")]
    args: String,
    /// Request the tool list repeatedly instead of calling the tool
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    expected: Expected,
    /// Also measure this process and its descendants
    #[arg(long)]
    pid: Option<u32>,
}

pub(crate) async fn run(args: Args) -> Result<(), Fault> {
    let expected = args.expected.clone();
    let mut plan = Plan {
        transport: args.transport,
        url: args.url.clone(),
        method: if args.list {
            "tools/list"
        } else {
            "tools/call"
        },
        params: "{}".to_owned(),
        expected,
        opened: Cell::new(0),
    };
    let found = timeout(START, plan.find_tool(&args.tool)).await;
    let name = found.map_err(|_| format!("no tool {} in {START:?}", args.tool))??;
    if !args.list {
        let arguments: &RawValue = serde_json::from_str(&args.args)?;
        plan.params = json!({ "name": name, "arguments": arguments }).to_string();
    }

    let plan = Rc::new(plan);
    let mut sessions = Vec::new();
    for _ in 0..args.sessions {
        let opened = timeout(START, plan.open()).await;
        sessions.push(opened.map_err(|_| format!("no session in {START:?}"))??);
    }
    println!("{}", measure(&args, &plan, sessions).await);
    Ok(())
}

/// The work of every session.
struct Plan {
    transport: Transport,
    url: Uri,
    method: &'static str,
    /// The params of the method, as JSON.
    params: String,
    expected: Expected,
    opened: Cell<u64>,
}

impl Plan {
    async fn open(&self) -> Result<Session, Fault> {
        let number = self.opened.get() + 1;
        self.opened.set(number);
        Session::open(self.transport, &self.url, number).await
    }

    /// Waits for a tool whose name ends in `suffix` and returns the full name. A gateway may listen
    /// before its servers are ready.
    async fn find_tool(&self, suffix: &str) -> Result<String, Fault> {
        let mut session = self.open().await?;
        loop {
            let mut names = session.list_tools().await?.into_iter();
            if let Some(name) = names.find(|name| is_named(name, suffix)) {
                session.close().await?;
                return Ok(name);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn is_named(name: &str, suffix: &str) -> bool {
    let prefix = name.strip_suffix(suffix);
    prefix.is_some_and(|prefix| !prefix.ends_with(char::is_alphanumeric))
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    WarmUp,
    Measure,
    Over,
}

/// The state shared by the sessions of a run.
struct Tally {
    phase: Cell<Phase>,
    /// Latencies of the calls answered during the measurement.
    latencies: RefCell<Vec<Duration>>,
    errors: Cell<u64>,
    first_error: RefCell<Option<String>>,
}

impl Tally {
    fn fail(&self, error: impl ToString) {
        self.errors.set(self.errors.get() + 1);
        let mut first = self.first_error.borrow_mut();
        first.get_or_insert_with(|| error.to_string());
    }
}

async fn measure(args: &Args, plan: &Rc<Plan>, sessions: Vec<Session>) -> Value {
    let tally = Rc::new(Tally {
        phase: Cell::new(Phase::WarmUp),
        latencies: RefCell::default(),
        errors: Cell::default(),
        first_error: RefCell::default(),
    });
    let mut running = JoinSet::new();
    for session in sessions {
        running.spawn_local(drive(plan.clone(), tally.clone(), session));
    }
    sleep(Duration::from_secs_f64(args.warmup)).await;
    // Reading /proc blocks the only thread, so no call is answered meanwhile. Time, calls and usage
    // therefore cover the same period.
    let before = args.pid.and_then(Usage::of);
    let since = Instant::now();
    tally.phase.set(Phase::Measure);
    sleep(Duration::from_secs_f64(args.seconds)).await;
    let elapsed = since.elapsed();
    let after = args.pid.and_then(Usage::of);
    tally.phase.set(Phase::Over);

    let ending = async { while running.join_next().await.is_some() {} };
    if timeout(GRACE, ending).await.is_err() {
        for _ in 0..running.len() {
            tally.fail(format!("no answer in {GRACE:?}"));
        }
    }
    report(args, &tally, elapsed, before.zip(after))
}

/// Runs one session until the measurement is over.
async fn drive(plan: Rc<Plan>, tally: Rc<Tally>, mut session: Session) {
    while tally.phase.get() != Phase::Over {
        let since = Instant::now();
        match session
            .call(plan.method, &plan.params, &plan.expected)
            .await
        {
            Ok(()) if tally.phase.get() == Phase::Measure => {
                tally.latencies.borrow_mut().push(since.elapsed());
            }
            Ok(()) => {}
            Err(error) => {
                tally.fail(error);
                // Later messages on the old session are unpredictable.
                session = match plan.open().await {
                    Ok(session) => session,
                    Err(error) => return tally.fail(error),
                };
            }
        }
    }
    if let Err(error) = session.close().await {
        tally.fail(error);
    }
}

fn report(args: &Args, tally: &Tally, elapsed: Duration, usage: Option<(Usage, Usage)>) -> Value {
    let mut latencies = tally.latencies.borrow_mut();
    latencies.sort_unstable();
    let calls = latencies.len();
    let percentile = |percent| {
        let at = calls.saturating_sub(1) * percent / 100;
        latencies.get(at).map(|latency| micros(*latency))
    };
    let per_call = |before: Duration, after: Duration| {
        let spent = after.saturating_sub(before);
        (calls > 0).then(|| round(spent.as_secs_f64() * 1e6 / calls as f64))
    };
    let mut report = json!({
        "transport": args.transport.to_string(),
        "sessions": args.sessions,
        "calls": calls,
        "per_s": round(calls as f64 / elapsed.as_secs_f64()),
        "p50_us": percentile(50),
        "p99_us": percentile(99),
        "errors": tally.errors.get(),
    });
    if let Some((before, after)) = usage {
        report["cpu_us_per_call"] = json!(per_call(before.cpu(), after.cpu()));
        report["children_cpu_us_per_call"] = json!(per_call(before.children, after.children));
        report["rss_kib"] = json!(after.rss_kib);
    }
    if let Some(error) = tally.first_error.borrow().as_deref() {
        report["first_error"] = json!(error);
    }
    report
}

fn micros(duration: Duration) -> f64 {
    round(duration.as_secs_f64() * 1e6)
}

/// Rounds to two decimals, because more digits would suggest a precision that the measurement does
/// not have.
fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
