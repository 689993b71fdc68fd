//! A record as it is held in memory: as text, which takes a tenth of what its values take. Most of the time nobody looks.

use super::record::Record;

/// What is known of a server, packed.
#[derive(Debug)]
pub(super) struct PackedRecord {
    text: Box<[u8]>,
    tools: usize,
    prompts: usize,
    resources: usize,
}

impl PackedRecord {
    /// Packs a record. How long that takes, its server decides.
    pub(super) fn of(record: &Record) -> Self {
        PackedRecord {
            // A record is made of what was JSON before.
            text: serde_json::to_vec(record).unwrap_or_default().into(),
            tools: record.tools.len(),
            prompts: record.prompts.len(),
            resources: record.resources.len(),
        }
    }

    /// The record. How long that takes, its server decides.
    pub(super) fn open(&self) -> Record {
        serde_json::from_slice(&self.text).unwrap_or_default()
    }

    /// How many tools it knows.
    pub(super) fn tools(&self) -> usize {
        self.tools
    }

    /// How many prompts it knows.
    pub(super) fn prompts(&self) -> usize {
        self.prompts
    }

    /// How many resources it knows.
    pub(super) fn resources(&self) -> usize {
        self.resources
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    /// Proves: C10.
    #[test]
    fn a_record_is_the_same_after_it_was_packed() {
        let text = r#"{"name":"t","vendor":{"b":1.10,"a":12345678901234567890123}}"#;
        let record = Record::of_tools(vec![serde_json::from_str(text).unwrap()]);
        let packed = PackedRecord::of(&record);
        assert_eq!(packed.tools(), 1);
        let opened = packed.open();
        assert_eq!(opened, record);
        let tool: Box<RawValue> = serde_json::value::to_raw_value(&opened.tools[0]).unwrap();
        assert_eq!(tool.get(), text);
    }
}
