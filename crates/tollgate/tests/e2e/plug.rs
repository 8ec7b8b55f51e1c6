//! The plug for CI: the steps of the GitHub Action and of the GitLab template run as their runners would run them. The programs are
//! counted and not timed, so that the verdicts are the same on every machine.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The same program as built with optimization, and without: it executes more instructions then.
const FAST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/note-linux.elf");
const SLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/note-O0-linux.elf");

/// A folder with the record of the fast program, `before.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut record = Command::new(PROGRAM);
    record.args(["riscv", "exec", "--user-only", "--no-save", "--json", "--out", "before.json", "--", FAST]);
    assert!(record.current_dir(&folder).output().unwrap().status.success());
    folder
}

fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(Path::new(ROOT).join(name)).unwrap()).expect("YAML")
}

/// Runs the Action's comparison with these inputs. Returns the status that the job ends with, and the sheet.
fn action(folder: &Path, inputs: &[(&str, &str)]) -> (String, String) {
    let action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().expect("a list of steps");
    let step = steps.iter().find(|step| step["id"] == "compare").expect("the step that compares");
    let mut shell = Command::new("bash");
    shell.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"].as_str().unwrap()]);
    for (name, value) in step["env"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        let input = value.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}"));
        let filled = match (name.as_str(), input) {
            ("TOLLGATE", _) => PROGRAM,
            (_, Some(input)) => {
                let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, value)| *value);
                given.or(action["inputs"][input]["default"].as_str()).unwrap_or_default()
            }
            (_, None) => &value.replace("${{ github.action_path }}", ROOT),
        };
        shell.env(name, filled);
    }
    let (output, summary) = (folder.join("output"), folder.join("summary"));
    fs::write(&output, "").unwrap();
    fs::write(&summary, "").unwrap();
    shell.env("GITHUB_OUTPUT", &output).env("GITHUB_STEP_SUMMARY", &summary).current_dir(folder);
    let ended = shell.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let output = fs::read_to_string(output).unwrap();
    let status = output.lines().find_map(|line| line.strip_prefix("status=")).expect("a status");
    let sheet = fs::read_to_string(folder.join("tollgate.md")).unwrap();
    assert_eq!(sheet, fs::read_to_string(summary).unwrap());
    (status.to_owned(), sheet)
}

#[test]
fn the_action_fails_a_program_that_executes_more_instructions() {
    let folder = folder();
    let exact = |old, new, above| {
        action(folder.path(), &[("use", "exact"), ("old", old), ("new", new), ("fail-above", above)])
    };
    let (status, sheet) = exact("before.json", SLOW, "1%");
    assert_eq!(status, "1", "{sheet}");
    assert!(sheet.starts_with("## tollgate: exact\n") && sheet.contains("| own code |"), "{sheet}");
    let (status, sheet) = exact("before.json", FAST, "0%");
    assert_eq!(status, "0", "{sheet}");
    assert!(sheet.contains("No difference"), "{sheet}");
    // Another program in place of a record, and an improvement.
    let (status, sheet) = exact(SLOW, FAST, "0%");
    assert_eq!(status, "0", "{sheet}");
    assert!(sheet.contains("instructions less"), "{sheet}");
}

#[test]
fn the_job_of_gitlab_fails_it_too() {
    let (folder, template) = (folder(), yaml("ci/gitlab.yml"));
    let tools = folder.path().join(".tollgate");
    fs::create_dir(&tools).unwrap();
    std::os::unix::fs::symlink(Path::new(ROOT).join("ci/tollgate-ci"), tools.join("tollgate-ci")).unwrap();
    let job = &template[".tollgate-exact"];
    let run = |new: &str| -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", job["script"][0].as_str().unwrap()]).current_dir(&folder);
        for variables in [&template[".tollgate"]["variables"], &job["variables"]] {
            for (name, value) in variables.as_object().unwrap() {
                shell.env(name, value.as_str().unwrap());
            }
        }
        shell.env("TOLLGATE", PROGRAM).envs([("OLD", "before.json"), ("NEW", new)]).output().unwrap()
    };
    assert_eq!(run(SLOW).status.code(), Some(1));
    assert_eq!(run(FAST).status.code(), Some(0));
}
