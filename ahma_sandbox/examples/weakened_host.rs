//! A helper of the tests: runs a program on a machine that lacks a kernel feature, as far as the
//! program can tell.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ahma_tests::weaken::main()
}
