//! Packs the vocabulary used to count tokens. The form that `tiktoken-rs` ships, Base64 with a
//! number on each line, is more than twice as long.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "tokens")]
    vocabulary::pack();
}

#[cfg(feature = "tokens")]
mod vocabulary {
    use std::path::PathBuf;

    /// Writes all tokens in numerical order, each preceded by its length.
    pub(super) fn pack() {
        let vocabulary = tiktoken_rs::o200k_base().expect("the crate carries it");
        let mut packed = Vec::new();
        // Stops at the first unassigned number. Special tokens have higher numbers and are not
        // needed for counting.
        for token in (0..).map_while(|number| vocabulary.decode_bytes(&[number]).ok()) {
            packed.push(u8::try_from(token.len()).expect("no token has 256 bytes"));
            packed.extend(token);
        }
        let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
        let file = PathBuf::from(folder).join("o200k");
        std::fs::write(file, packed).expect("cargo's folder can be written to");
    }
}
