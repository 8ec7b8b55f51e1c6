//! What differs from student to student: numbers and words that a seed chooses, and texts that contain them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::error::ExerciseError;
use super::formula;

/// Formulas that use formulas.
const DEEPEST: u32 = 20;

/// How the value of a name is chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Parameter {
    /// A multiple of `step` above `from`, at most `to`.
    Range {
        from: i64,
        to: i64,
        #[serde(default = "one")]
        step: i64,
    },
    /// One of a list: by chance, or the one with the index that another parameter has.
    Choice {
        one_of: Vec<Value>,
        #[serde(default)]
        by: Option<String>,
    },
    /// Computed from others.
    Formula { formula: String },
}

fn one() -> i64 {
    1
}

/// The value of a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The values of all names.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(BTreeMap<String, Value>);

impl Values {
    /// What a seed chooses. Each name has numbers of its own, so that a new name changes no other.
    pub(super) fn draw(
        all: &BTreeMap<String, Parameter>,
        id: &str,
        seed: u64,
    ) -> Result<Self, ExerciseError> {
        let mut values = Self(BTreeMap::from([("seed".into(), Value::Text(seed.to_string()))]));
        for (name, parameter) in all {
            let random = mix(seed ^ mix(fnv(id) ^ fnv(name).rotate_left(32)));
            let wrong = |why: &str| Err(ExerciseError::File(format!("parameter {name}: {why}")));
            let value = match parameter {
                Parameter::Range { from, to, step } => {
                    let span = to.checked_sub(*from).filter(|it| *it >= 0 && *step > 0);
                    let Some(span) = span else { return wrong("give from, to and step with from <= to") };
                    let count = (span / step) as u64 + 1;
                    Value::Number(from + (random % count) as i64 * step)
                }
                Parameter::Choice { one_of, .. } if one_of.is_empty() => return wrong("one_of is empty"),
                Parameter::Choice { one_of, by: None } => {
                    one_of[(random % one_of.len() as u64) as usize].clone()
                }
                Parameter::Choice { .. } | Parameter::Formula { .. } => continue,
            };
            values.0.insert(name.clone(), value);
        }
        for (name, parameter) in all {
            if let Parameter::Choice { one_of, by: Some(index) } = parameter {
                let chosen = match values.0.get(index) {
                    Some(Value::Number(number)) => {
                        usize::try_from(*number).ok().and_then(|at| one_of.get(at))
                    }
                    _ => None,
                };
                let chosen = chosen.cloned().ok_or_else(|| {
                    ExerciseError::File(format!(
                        "parameter {name}: {index} must be a number below {}",
                        one_of.len()
                    ))
                })?;
                values.0.insert(name.clone(), chosen);
            }
        }
        for name in all.keys() {
            if let Parameter::Formula { .. } = all[name] {
                let value = values.compute(all, name, 0);
                let value = value.map_err(|why| ExerciseError::File(format!("parameter {name}: {why}")))?;
                values.0.insert(name.clone(), Value::Number(value));
            }
        }
        Ok(values)
    }

    fn compute(&self, all: &BTreeMap<String, Parameter>, name: &str, depth: u32) -> Result<i64, String> {
        match (self.0.get(name), all.get(name)) {
            (Some(Value::Number(number)), _) => Ok(*number),
            (Some(Value::Text(text)), _) => Err(format!("{name} is '{text}', which is not a number")),
            (None, Some(Parameter::Formula { .. })) if depth > DEEPEST => {
                Err(format!("{name} depends on itself"))
            }
            (None, Some(Parameter::Formula { formula })) => {
                let value =
                    formula::value(formula, &|name| self.compute(all, name, depth + 1).map(i128::from))?;
                i64::try_from(value).map_err(|_| "the number is too large".into())
            }
            (None, _) => Err(format!("there is no parameter {name}")),
        }
    }

    /// The same with some values replaced, by formulas of the others.
    pub(super) fn with(&self, set: &BTreeMap<String, String>) -> Result<Self, ExerciseError> {
        let mut values = self.clone();
        for (name, formula) in set {
            if !self.0.contains_key(name) {
                return Err(ExerciseError::File(format!("set: there is no parameter {name}")));
            }
            let none = BTreeMap::new();
            let value = formula::value(formula, &|name| self.compute(&none, name, 0).map(i128::from));
            let value = value.and_then(|it| i64::try_from(it).map_err(|error| error.to_string()));
            let value = value.map_err(|why| ExerciseError::File(format!("set {name}: {why}")))?;
            values.0.insert(name.clone(), Value::Number(value));
        }
        Ok(values)
    }

    /// A text with the values in place of `{{NAME}}`.
    pub(super) fn fill(&self, text: &str) -> Result<String, ExerciseError> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after
                .split_once("}}")
                .ok_or_else(|| ExerciseError::File("a text has {{ without }}".into()))?;
            // An address is easier to read in hexadecimal.
            let (name, is_hex) = match name.trim().strip_suffix(":x") {
                Some(name) => (name, true),
                None => (name.trim(), false),
            };
            let value = self.0.get(name);
            let value = value.ok_or_else(|| {
                ExerciseError::File(format!("a text has {{{{{name}}}}}, which is not a parameter"))
            })?;
            filled += before;
            filled += &match value {
                Value::Number(number) if is_hex => format!("{number:#x}"),
                value => value.to_string(),
            };
            rest = after;
        }
        Ok(filled + rest)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): neighboring seeds give unrelated numbers.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a (RFC 9923).
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The seed of a student by a name, such as a mail address: upper and lower case and spaces around it do not matter. At most 32
/// bits, so that it can be read out and typed.
///
/// ```
/// use tollgate_lab::exercise::seed_of;
/// assert_eq!(seed_of(" Ada@example.org"), seed_of("ada@example.org"));
/// assert_ne!(seed_of("ada@example.org"), seed_of("bob@example.org"));
/// ```
pub fn seed_of(student: &str) -> u64 {
    mix(fnv(&student.trim().to_lowercase())) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> BTreeMap<String, Parameter> {
        let text = "a = { from = 3, to = 11, step = 4 }\nb = { one_of = [\"x\", \"y\"] }\nc = { formula = \"d + 1\" }\n\
                    d = { formula = \"a * 2\" }";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_seed_always_gives_the_same_and_others_something_else() {
        let all = parameters();
        let filled =
            |seed| Values::draw(&all, "id", seed).unwrap().fill("{{a}} {{ b }} {{c}} {{seed}}").unwrap();
        assert_eq!(filled(1), filled(1));
        let texts: std::collections::BTreeSet<_> =
            (0..64).map(|seed| filled(seed).rsplit_once(' ').unwrap().0.to_owned()).collect();
        let expected = ["3", "7", "11"]
            .map(|a| ["x", "y"].map(|b| format!("{a} {b} {}", a.parse::<i64>().unwrap() * 2 + 1)));
        assert_eq!(texts, expected.into_iter().flatten().collect());
    }

    #[test]
    fn values_can_be_set_from_others() {
        let values = Values::draw(&parameters(), "id", 1).unwrap();
        let set = |name: &str, formula: &str| values.with(&BTreeMap::from([(name.into(), formula.into())]));
        assert_eq!(set("a", "d - d + 5").unwrap().fill("{{a}}").unwrap(), "5");
        assert!(set("z", "1").is_err());
        assert!(set("a", "b").is_err());
    }

    #[test]
    fn numbers_can_be_hexadecimal() {
        let values = Values::draw(&parameters(), "id", 1).unwrap();
        let set = values.with(&BTreeMap::from([("a".into(), "255".into())])).unwrap();
        assert_eq!(set.fill("{{a:x}} {{ a }}").unwrap(), "0xff 255");
    }

    #[test]
    fn mistakes_of_a_file_are_named() {
        let values = Values::draw(&parameters(), "id", 1).unwrap();
        assert!(values.fill("{{z}}").unwrap_err().to_string().contains("{{z}}"));
        assert!(values.fill("{{a").is_err());
        let itself: BTreeMap<_, _> = toml::from_str("a = { formula = \"a\" }").unwrap();
        assert!(Values::draw(&itself, "id", 1).is_err());
        let empty: BTreeMap<_, _> = toml::from_str("a = { from = 2, to = 1 }").unwrap();
        assert!(Values::draw(&empty, "id", 1).is_err());
    }
}
