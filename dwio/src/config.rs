//! String settings with typed, checked getters.

use std::collections::BTreeMap;
use std::str::FromStr;

use vector::{Error, Result};

/// Settings by name; what was never set takes the reader's default.
#[derive(Debug, Clone, Default)]
pub struct Config {
    entries: BTreeMap<String, String>,
}

impl Config {
    /// No settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key`, replacing an earlier value.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.entries.insert(key.into(), value.into());
    }

    /// The text set for `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }

    /// The value set for `key`, or `default`; `InvalidInput` when the text is not a `T`.
    pub fn get<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        let Some(text) = self.entries.get(key) else { return Ok(default) };
        text.trim().parse().map_err(|_| {
            Error::invalid_input("a setting has a value of another type")
                .with("setting", key)
                .with("value", text)
                .with("expected", std::any::type_name::<T>())
        })
    }

    /// All settings in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Config {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let entries = iter.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Config { entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_with_its_type_or_refused_by_name() {
        let config: Config = [("load-quantum", "42"), ("flag", "maybe")].into_iter().collect();
        assert_eq!(config.get("load-quantum", 7usize).unwrap(), 42);
        assert_eq!(config.get("absent", 7usize).unwrap(), 7);
        let error = config.get("flag", true).unwrap_err();
        assert!(error.is_user());
        assert_eq!(error.field("setting"), Some("flag"));
    }
}
