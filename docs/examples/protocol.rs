//! A program that brings an experiment by the protocol alone (docs/protocol.md), with nothing but Rust's standard library.
//!
//!     rustc -O protocol.rs && perfkit run ./protocol
use std::fs::File;
use std::hint::black_box;
use std::io::{stdin, BufRead, Write};
use std::os::unix::io::FromRawFd;
use std::time::{Duration, Instant};

const DESCRIPTION: &str = concat!(
    r#"{"type":"experiment","name":"rust-sort","summary":"how fast are numbers sorted","yardstick":"stable","plan":true,"#,
    r#""axes":[{"name":"n","type":"int","default":[1000,10000]}],"#,
    r#""variants":[{"name":"stable","summary":"slice::sort"},{"name":"unstable","summary":"slice::sort_unstable"}]}"#
);

/// The value of a member that is a number or a word: enough for the requests that perfkit sends to this program.
fn value<'a>(request: &'a str, key: &str) -> Option<&'a str> {
    let at = request.find(&format!("\"{key}\":"))? + key.len() + 3;
    let rest = request[at..].trim_start_matches('"');
    rest.split(|c: char| c == '"' || c == ',' || c == '}').next()
}

fn numbers(n: usize) -> Vec<u64> {
    (0..n as u64).map(|i| i.wrapping_mul(6364136223846793005).rotate_left(17)).collect()
}

/// Metrics and samples, or why there are none.
fn measure(request: &str, wire: &mut File) -> Result<(), String> {
    let n: usize = value(request, "n").and_then(|n| n.parse().ok()).ok_or("the axis n is not a number")?;
    let sort: fn(&mut [u64]) = match value(request, "variant") {
        Some("stable") => <[u64]>::sort,
        Some("unstable") => <[u64]>::sort_unstable,
        _ => return Err("this program has the variants stable and unstable".into()),
    };
    let input = numbers(n);
    let mut checked = input.clone();
    sort(&mut checked);
    if checked.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err("the result is not sorted".into());
    }
    let (began, mut samples) = (Instant::now(), Vec::new());
    while samples.len() < 20 || (began.elapsed() < Duration::from_millis(200) && samples.len() < 10000) {
        let mut v = input.clone();
        let start = Instant::now();
        sort(black_box(&mut v));
        samples.push(start.elapsed().as_nanos().to_string());
    }
    let say = writeln!(
        wire,
        "{}\n{{\"type\":\"samples\",\"metric\":\"time_ns\",\"phase\":\"warmup\",\"values\":[{}]}}\n{{\"type\":\"samples\",\"metric\":\"time_ns\",\"values\":[{}]}}",
        r#"{"type":"metric","name":"time_ns","unit":"ns","direction":"lower"}"#,
        samples[..5].join(","),
        samples[5..].join(",")
    );
    say.map_err(|e| e.to_string())
}

fn main() {
    let fd = std::env::var("PERFKIT_WIRE_FD").ok().and_then(|fd| fd.parse().ok());
    let Some(fd) = fd else {
        eprintln!("PERFKIT_WIRE_FD is not set: perfkit run ./protocol starts this program");
        std::process::exit(2);
    };
    let mut wire = unsafe { File::from_raw_fd(fd) };
    writeln!(wire, r#"{{"type":"hello","version":1,"program":"rust-sort","describes":true}}"#).unwrap();
    for request in stdin().lock().lines().map_while(Result::ok) {
        let outcome = match value(&request, "type") {
            Some("describe") => writeln!(wire, "{DESCRIPTION}").map_err(|e| e.to_string()),
            Some("plan") => {
                let n: f64 = value(&request, "n").and_then(|n| n.parse().ok()).unwrap_or(0.0);
                writeln!(wire, r#"{{"type":"work","metric":"time_ns","bytes":{}}}"#, 8.0 * n).map_err(|e| e.to_string())
            }
            Some("measure") => measure(&request, &mut wire),
            Some("quit") => break,
            _ => Err("this program does not know this request".into()),
        };
        let (status, message) = outcome.map_or_else(|e| ("failed", e), |()| ("ok", String::new()));
        let id = value(&request, "id").unwrap_or("0");
        writeln!(wire, r#"{{"type":"status","id":{id},"status":"{status}","message":"{message}"}}"#).unwrap();
    }
    writeln!(wire, r#"{{"type":"bye"}}"#).unwrap();
}
