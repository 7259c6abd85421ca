//! Configuration: settings as strings, with getters that parse and check their types.

use std::collections::BTreeMap;
use std::str::FromStr;

use vector::{Error, Result};

/// Settings by name. A setting that is absent takes the default that its reader passes to
/// [`Config::get`].
#[derive(Debug, Clone, Default)]
pub struct Config {
    entries: BTreeMap<String, String>,
}

impl Config {
    /// Returns a configuration without settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key`, replacing an earlier value.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.entries.insert(key.into(), value.into());
    }

    /// Returns the text of setting `key`, or `None` if it is absent.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }

    /// Returns the value of setting `key`, or `default` if it is absent.
    ///
    /// # Errors
    /// `InvalidInput` if the text cannot be parsed as a `T`.
    pub fn get<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        let Some(text) = self.entries.get(key) else { return Ok(default) };
        text.trim().parse().map_err(|_| {
            Error::invalid_input("a setting has a value of another type")
                .with("setting", key)
                .with("value", text)
                .with("expected", std::any::type_name::<T>())
        })
    }

    /// Returns all settings, ordered by name.
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
