//! Metrics of the process, under the usual names of exporters.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::MetricFamily;

/// Returns the metrics of this process. Leaves out values that the system does not provide, such as
/// those from `/proc`.
pub(crate) fn process() -> Vec<MetricFamily> {
    let mut families = Vec::new();
    let mut gauge = |name, help, value: Option<f64>| {
        families.extend(value.map(|value| MetricFamily::gauge(name, help).with([], value)));
    };
    let stat = Stat::read();
    let stat = stat.as_ref();
    gauge(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        stat.map(|stat| stat.resident_bytes),
    );
    gauge(
        "process_virtual_memory_bytes",
        "Virtual memory size in bytes.",
        stat.map(|stat| stat.virtual_bytes),
    );
    gauge(
        "process_start_time_seconds",
        "Start time of the process in seconds since 1970.",
        stat.and_then(|stat| Some(booted()? + stat.started_after_boot)),
    );
    // One of the descriptors is the open folder itself.
    let open = fs::read_dir("/proc/self/fd").ok();
    gauge(
        "process_open_fds",
        "Number of open file descriptors.",
        open.map(|entries| entries.count().saturating_sub(1) as f64),
    );
    gauge(
        "process_max_fds",
        "Maximum number of open file descriptors.",
        getrlimit(Resource::Nofile)
            .current
            .map(|limit| limit as f64),
    );
    if let Some(stat) = stat {
        let help = "Total user and system CPU time in seconds.";
        families.push(MetricFamily::counter("process_cpu_seconds_total", help).with([], stat.cpu));
    }
    families
}

/// The fields of `/proc/self/stat` that are reported.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu: f64,
    started_after_boot: f64,
    virtual_bytes: f64,
    resident_bytes: f64,
}

impl Stat {
    fn read() -> Option<Stat> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let page = rustix::param::page_size() as f64;
        Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?, ticks, page)
    }

    /// Parses `/proc/self/stat`. The second field is the program's name in parentheses. The name
    /// may itself contain spaces and parentheses, so the third field starts after the last closing
    /// parenthesis.
    fn parse(text: &str, ticks: f64, page: f64) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Stat {
            cpu: (field(14)? + field(15)?) / ticks,
            started_after_boot: field(22)? / ticks,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)? * page,
        })
    }
}

/// Returns the boot time of the machine, in seconds since 1970.
fn booted() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn parentheses_in_the_process_name_are_parsed() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 250 50 13 14 15 16 17 18 1000 4096 3 99";
        let stat = Stat::parse(&format!("42 (odd) name (x) {rest}"), 100.0, 4096.0);
        let expected = Stat {
            cpu: 3.0,
            started_after_boot: 10.0,
            virtual_bytes: 4096.0,
            resident_bytes: 3.0 * 4096.0,
        };
        assert_eq!(stat, Some(expected));
        assert_eq!(Stat::parse("42 (short) S 1", 100.0, 4096.0), None);
        assert_eq!(Stat::parse("", 100.0, 4096.0), None);
    }

    #[test]
    fn own_process_reports_memory_and_files() {
        let names: Vec<_> = super::process().iter().map(|family| family.name).collect();
        assert_eq!(names.len(), 6, "{names:?}");
    }
}
