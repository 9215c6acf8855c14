//! Valid names in a language.
//!
//! A name that is not an identifier, a keyword, a gate or a name given before is changed: each
//! letter that an identifier cannot have becomes `_`, and a number is appended until the name is
//! new: `my reg` -> `my_reg`, `if` -> `if_1`, `x` -> `x_1`.

use std::collections::HashSet;

/// Words that cannot be names in either language: keywords, types, constants, functions and the
/// gates of `stdgates.inc`.
const RESERVED: &str = "OPENQASM include defcalgrammar def cal defcal gate extern box let break continue if \
    else end return for while in switch case default nop pragma input output const readonly mutable qreg \
    qubit creg bool bit int uint float angle complex array void duration stretch gphase inv pow ctrl \
    negctrl durationof delay reset measure barrier true false opaque pi tau euler im arccos arcsin arctan \
    ceiling cos exp floor log mod popcount real imag rotl rotr sin sqrt tan sizeof ln U CX \
    p x y z h s sdg t tdg sx rx ry rz cx cy cz ch cp crx cry crz cu swap ccx cswap phase cphase id u1 u2 u3";

/// More gates that files of OpenQASM 2 commonly define.
const GATES_2: &str = "sxdg cs csdg csx cu1 cu3 ccz u u0 ug r iswap iswapdg ecr dcx dcxdg rxx ryy rzz rzx fsim rccx \
    rc3x c3x c3sqrtx c3sx c4x cnot toffoli fredkin";

/// Form of valid names in a language.
#[derive(Clone, Copy)]
pub(super) enum Alphabet {
    /// OpenQASM 2: a lower-case letter, then letters, digits and `_`.
    Qasm2,
    /// OpenQASM 3: a letter or `_`, then letters, digits and `_`; printed in ASCII and Greek
    /// letters.
    Qasm3,
}

/// Allocator of unique names.
pub(super) struct UniqueNames {
    alphabet: Alphabet,
    taken: HashSet<String>,
}

impl UniqueNames {
    pub(super) fn new(alphabet: Alphabet) -> UniqueNames {
        let more = match alphabet {
            Alphabet::Qasm2 => GATES_2,
            Alphabet::Qasm3 => "",
        };
        let taken = [RESERVED, more]
            .into_iter()
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect();
        UniqueNames { alphabet, taken }
    }

    /// Reserves a name, so that it is not allocated.
    pub(super) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Returns the name itself, or a similar one that is free.
    pub(super) fn allocate(&mut self, wanted: &str) -> String {
        let greek = |c: char| {
            matches!(self.alphabet, Alphabet::Qasm3) && ('α'..='ω').contains(&c) && c != 'π'
        };
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || greek(c);
        let mut name: String =
            wanted.chars().map(|c| if letter(c) || c.is_ascii_digit() { c } else { '_' }).collect();
        let first_is_good = name.starts_with(|c: char| match self.alphabet {
            Alphabet::Qasm2 => c.is_ascii_lowercase(),
            Alphabet::Qasm3 => letter(c),
        });
        if !first_is_good {
            name.insert_str(0, "r_");
        }
        let plain = name.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        name
    }
}

/// Returns the array and the index of a parameter that is an element: `w[3]` is `("w", 3)`.
pub(super) fn element(name: &str) -> Option<(&str, usize)> {
    let (array, index) = name.strip_suffix(']')?.split_once('[')?;
    let plain = index == "0" || !index.starts_with('0');
    let number = index.bytes().all(|b| b.is_ascii_digit()).then(|| index.parse().ok())??;
    plain.then_some((array, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clashing_names_get_a_number() {
        let mut names = UniqueNames::new(Alphabet::Qasm3);
        let wanted = ["c", "if", "x", "c", "my reg", "0", "", "θ", "π"];
        let given = wanted.map(|name| names.allocate(name));
        assert_eq!(given, ["c", "if_1", "x_1", "c_1", "my_reg", "r_0", "r_", "θ", "_"]);
        assert_eq!(UniqueNames::new(Alphabet::Qasm2).allocate("C"), "r_C");
    }

    #[test]
    fn elements_of_arrays() {
        assert_eq!(element("w[12]"), Some(("w", 12)));
        for other in ["w", "w[]", "w[01]", "w[+1]", "w[1]x", "w[1][2]"] {
            assert_eq!(element(other), None, "{other}");
        }
    }
}
