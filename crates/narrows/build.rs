//! Packs the vocabulary that tokens are counted with. As `tiktoken-rs` carries
//! it, in Base64 and with a number in each line, it is more than twice as long.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "tokens")]
    vocabulary::pack();
}

#[cfg(feature = "tokens")]
mod vocabulary {
    use std::path::PathBuf;

    /// Writes all tokens in the order of their numbers, each behind its length.
    pub(super) fn pack() {
        let vocabulary = tiktoken_rs::o200k_base().expect("the crate carries it");
        let mut packed = Vec::new();
        // The first number without a token is behind all of them: special
        // tokens, which do not count, are further up.
        for token in (0..).map_while(|number| vocabulary.decode_bytes(&[number]).ok()) {
            packed.push(u8::try_from(token.len()).expect("no token has 256 bytes"));
            packed.extend(token);
        }
        let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
        let file = PathBuf::from(folder).join("o200k");
        std::fs::write(file, packed).expect("cargo's folder can be written to");
    }
}
