//! Arbitrary bytes as a tool file: judged, never a panic, a hang or a fault without a place.

#![no_main]

use ahma_core::config::files::SourceFile;
use ahma_core::config::load;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = SourceFile { path: "fuzz.json".into(), content: Ok(bytes.to_vec()) };
    let catalog = load(vec![source], &ahma_core::server_facts());
    assert_eq!(catalog.files.len() + catalog.rejected.len(), 1);
    for file in &catalog.rejected {
        assert!(!file.faults.is_empty());
        for fault in &file.faults {
            assert!(fault.line >= 1 && fault.span.start <= fault.span.end);
        }
    }
});
