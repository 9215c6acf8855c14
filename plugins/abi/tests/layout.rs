//! The C header and the Rust types agree in every size and offset, and in every constant.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, mem, path::Path, process::Command};

use ketgrad_plugin_abi as abi;

/// `(C struct, Rust struct, fields)` becomes the names and numbers of both sides.
macro_rules! layouts {
    ($($c:literal $Rust:ident { $($field:ident)* })*) => {{
        let mut c = String::new();
        let mut rust = BTreeMap::new();
        $(
            c += &format!("  printf(\"{0} %zu\\n\", sizeof({0}));\n", $c);
            rust.insert($c.to_owned(), mem::size_of::<abi::$Rust>() as u64);
            let mut covered = 0;
            $(
                let name = format!("{}.{}", $c, stringify!($field));
                c += &format!("  printf(\"{name} %zu\\n\", offsetof({}, {}));\n", $c, stringify!($field));
                rust.insert(name, mem::offset_of!(abi::$Rust, $field) as u64);
                covered += 1;
            )*
            assert!(covered > 0);
        )*
        (c, rust)
    }};
}

macro_rules! constants {
    ($($c:literal $Rust:ident)*) => {{
        let mut c = String::new();
        let mut rust = BTreeMap::new();
        $(
            c += &format!("  printf(\"{0} %llu\\n\", (unsigned long long){0});\n", $c);
            rust.insert($c.to_owned(), abi::$Rust as u64);
        )*
        (c, rust)
    }};
}

#[test]
fn header_and_crate_agree() {
    let (sizes, mut rust) = layouts! {
        "ketgrad_str" Str { ptr len }
        "ketgrad_err" Err { struct_size reserved buf cap len }
        "ketgrad_array" Array { dtype ndim shape strides data mem device }
        "ketgrad_shape" Shape { ndim reserved dim }
        "ketgrad_rule" Rule {
            struct_size flags name n_in n_out dtypes reserved signature program user infer forward pullback
            scalar_f64 scalar_c64 free_tape drop_user
        }
        "ketgrad_gate" Gate { kind n_targets targets control_mask control_value matrix }
        "ketgrad_gate_list" GateList { ptr len stride }
        "ketgrad_query" Query { struct_size dtype n_qubits threads n_gates }
        "ketgrad_pauli_term" PauliTerm { coefficient x z }
        "ketgrad_inner" Inner { before x z }
        "ketgrad_backend" Backend {
            struct_size flags name mem dtypes max_qubits max_matrix_targets gates reserved user score apply_host
            state_new state_free state_copy upload download sync apply expectation inner inner_paulis
            apply_paulis drop_user describe state_basis apply_pair sample
        }
        "ketgrad_host" Host {
            struct_size major minor threads ctx log option add_rule add_backend parallel_for get_extension
        }
        "ketgrad_desc" Desc {
            magic abi_major abi_minor struct_size min_host_minor reserved name version build init
        }
    };
    let (values, more) = constants! {
        "KETGRAD_MAGIC" MAGIC "KETGRAD_MAJOR" MAJOR "KETGRAD_MINOR" MINOR
        "KETGRAD_OK" OK "KETGRAD_ERROR" ERROR "KETGRAD_PANIC" PANIC "KETGRAD_UNSUPPORTED" UNSUPPORTED
        "KETGRAD_INVALID" INVALID "KETGRAD_NO_HARDWARE" NO_HARDWARE
        "KETGRAD_F64" F64 "KETGRAD_C64" C64 "KETGRAD_C32" C32
        "KETGRAD_MEM_HOST" MEM_HOST "KETGRAD_MEM_CUDA" MEM_CUDA "KETGRAD_MEM_OPAQUE" MEM_OPAQUE
        "KETGRAD_MAX_NDIM" MAX_NDIM
        "KETGRAD_LOG_ERROR" LOG_ERROR "KETGRAD_LOG_WARN" LOG_WARN "KETGRAD_LOG_INFO" LOG_INFO
        "KETGRAD_GATE_DENSE" GATE_DENSE "KETGRAD_GATE_DIAGONAL" GATE_DIAGONAL
    };
    rust.extend(more);

    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let source = format!(
        "#include <stdio.h>\n#include \"ketgrad_plugin.h\"\nint main(void) {{\n{sizes}{values}  return 0;\n}}\n"
    );
    std::fs::write(out.join("layout.c"), source).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let program = out.join("layout");
    let compiled = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(&include)
        .arg(out.join("layout.c"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap_or_else(|e| panic!("a C compiler is needed (`{compiler}`: {e})"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let c: BTreeMap<String, u64> = printed
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, number)| (name.to_owned(), number.parse().unwrap()))
        .collect();
    assert_eq!(c, rust);
}

/// The part that every version of the host reads before anything else.
#[test]
fn the_frozen_header_stays() {
    assert_eq!(mem::offset_of!(abi::Desc, magic), 0);
    assert_eq!(mem::offset_of!(abi::Desc, abi_major), 8);
    assert_eq!(mem::offset_of!(abi::Desc, abi_minor), 12);
    assert_eq!(mem::offset_of!(abi::Desc, struct_size), 16);
    assert_eq!(mem::offset_of!(abi::Desc, min_host_minor), 20);
    assert_eq!(mem::offset_of!(abi::Desc, name), 32);
    assert_eq!(&abi::MAGIC.to_le_bytes(), b"KETGRAD1");
}
