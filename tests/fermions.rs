//! Fermions: their algebra, their maps to qubits, and molecules from FCIDUMP files.
//!
//! The files `molecules/*.fcidump` and `examples/jobs/h4.fcidump` and their energies come from
//! PySCF 2.14, full configuration interaction in the basis STO-3G; strings and normal orders from
//! OpenFermion 1.8.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    hybrid::Expectation,
    observable::PauliSum,
    optimize::{Lbfgs, Optimizer, Stopping, minimize},
    problem::{self, FermionOperator, Ladder, Mapping, Molecule, Tapering},
    simulate::Simulator,
};
use nalgebra::DMatrix;
use num_complex::Complex;
use proptest::prelude::*;
use support::reference::pauli_sum;

type C = Complex<f64>;

/// The files give integrals to 12 digits after the point, of which hundreds are summed up.
const DIGITS: f64 = 1e-9;
/// Sums of some hundred numbers of size 1.
const ROUNDING: f64 = 1e-12;

const H4: &str = include_str!("../examples/jobs/h4.fcidump");
const LIH: &str = include_str!("molecules/lih.fcidump");
const OH: &str = include_str!("molecules/oh.fcidump");
const HEH: &str = include_str!("molecules/heh.fcidump");

fn operator(text: &str) -> FermionOperator {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn molecule(text: &str) -> Molecule {
    text.parse().unwrap()
}

fn levels(sum: &PauliSum, n: usize) -> Vec<f64> {
    let rows = pauli_sum(sum, n);
    let eigen = DMatrix::<C>::from_fn(1 << n, 1 << n, |i, j| rows[i][j]).symmetric_eigenvalues();
    let mut levels: Vec<f64> = eigen.iter().copied().collect();
    levels.sort_by(f64::total_cmp);
    levels
}

fn lowest(sum: &PauliSum, n: usize) -> f64 {
    Simulator::new().lowest(sum, n, 1).unwrap()[0].energy
}

/// The same matrix, whatever order the terms are in.
fn same(a: &PauliSum, b: &PauliSum) -> bool {
    (a.clone() - b.clone()).collected().unwrap().terms().iter().all(|t| t.0.abs() < ROUNDING)
}

/// The matrix of an operator on occupations, from
/// `a_p |n> = (-1)^(n_0 + … + n_(p-1)) n_p |n - e_p>` alone.
fn on_occupations(operator: &FermionOperator, n: usize) -> DMatrix<C> {
    let mut matrix = DMatrix::zeros(1 << n, 1 << n);
    for (c, product) in operator.terms() {
        'states: for from in 0usize..1 << n {
            let (mut to, mut value) = (from, *c);
            for ladder in product.iter().rev() {
                let p = ladder.orbital();
                if (to >> p & 1 == 0) != matches!(ladder, Ladder::Create(_)) {
                    continue 'states;
                }
                if (to & ((1 << p) - 1)).count_ones() % 2 == 1 {
                    value = -value;
                }
                to ^= 1 << p;
            }
            matrix[(to, from)] += value;
        }
    }
    matrix
}

/// The two Hermitian parts of `a_p`.
fn majoranas(p: usize) -> [FermionOperator; 2] {
    [operator(&format!("[{p}] + [{p}^]")), operator(&format!("1j [{p}^] - 1j [{p}]"))]
}

fn product() -> impl Strategy<Value = Vec<Ladder>> {
    let ladder = (0usize..5, any::<bool>())
        .prop_map(|(p, c)| if c { Ladder::Create(p) } else { Ladder::Annihilate(p) });
    proptest::collection::vec(ladder, 0..6)
}

fn any_operator() -> impl Strategy<Value = FermionOperator> {
    let term = ((-2.0..2.0, -2.0..2.0), product())
        .prop_map(|((re, im), product)| (C::new(re, im), product));
    proptest::collection::vec(term, 1..5).prop_map(|terms| FermionOperator::new(terms).unwrap())
}

#[test]
fn terms_are_pushed_scaled_and_conjugated_one_by_one() {
    let (i, hop) = (C::new(0.0, 1.0), vec![Ladder::Create(3), Ladder::Annihilate(1)]);
    let mut sum = FermionOperator::default();
    assert_eq!(sum.n_orbitals(), 0);
    sum.push(2.0, hop.clone()).unwrap().push(i, []).unwrap();
    assert_eq!(sum.terms(), [(C::from(2.0), hop.clone()), (i, vec![])]);
    assert_eq!(sum.n_orbitals(), 4);
    let times_i = sum.scaled(i).unwrap();
    assert_eq!(times_i.terms(), [(2.0 * i, hop), (C::from(-1.0), vec![])]);
    let back = vec![Ladder::Create(1), Ladder::Annihilate(3)];
    assert_eq!(back.iter().rev().map(|l| l.dagger()).collect::<Vec<_>>(), sum.terms()[0].1);
    assert_eq!(sum.dagger().terms(), [(C::from(2.0), back), (-i, vec![])]);
    // What is refused is not added.
    assert!(sum.push(f64::NAN, []).is_err() && sum.push(1.0, [Ladder::Create(64)]).is_err());
    assert!(sum.scaled(f64::INFINITY).is_err());
    assert_eq!(sum.terms().len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_map_and_order_keeps_the_matrix(given in any_operator(), n in 5usize..7) {
        let hermitian = given.clone() + given.dagger();
        prop_assert!(hermitian.is_hermitian());
        let expected = on_occupations(&hermitian, n);
        let ordered = hermitian.normal_ordered().unwrap();
        prop_assert!((on_occupations(&ordered, n) - &expected).norm() < ROUNDING);
        let is_ordered = |w: &[Ladder]| match (w[0], w[1]) {
            (Ladder::Create(p), Ladder::Create(q)) | (Ladder::Annihilate(p), Ladder::Annihilate(q)) => p > q,
            (before, _) => matches!(before, Ladder::Create(_)),
        };
        prop_assert!(ordered.terms().iter().all(|t| t.1.windows(2).all(is_ordered)));
        for mapping in Mapping::ALL {
            let rows = pauli_sum(&mapping.map(&hermitian, n).unwrap(), n);
            for from in 0..1 << n {
                let column = mapping.encode(n, from).unwrap();
                for to in 0..1 << n {
                    let value = rows[mapping.encode(n, to).unwrap()][column];
                    prop_assert!((value - expected[(to, from)]).norm() < ROUNDING, "{mapping:?}");
                }
            }
        }
    }

    #[test]
    fn products_and_daggers_are_those_of_matrices(a in any_operator(), b in any_operator()) {
        let (left, right) = (on_occupations(&a, 5), on_occupations(&b, 5));
        let product = a.times(&b).unwrap();
        prop_assert!((on_occupations(&product, 5) - &left * right).norm() < 1e-10);
        prop_assert!((on_occupations(&a.dagger(), 5) - left.adjoint()).norm() < ROUNDING);
        prop_assert_eq!(a.is_hermitian(), (left.adjoint() - &left).norm() < ROUNDING);
    }

    #[test]
    fn parsing_undoes_printing(given in any_operator()) {
        prop_assert_eq!(operator(&given.to_string()), given);
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "[-+^.eEj()0-9 \\[\\]µ\n]{0,30}", body in "[-+.eEdD()0-9 \n/&=*,µ]{0,40}") {
        let _ = text.parse::<FermionOperator>();
        let _ = body.parse::<Molecule>();
        let _ = format!("&FCI{body}").parse::<Molecule>();
        let _ = format!("&FCI NORB=2,NELEC=2,{body}").parse::<Molecule>();
        let _ = format!("&FCI NORB=2 NELEC=2 /\n{body}").parse::<Molecule>();
    }

    #[test]
    fn no_damaged_file_makes_anything_panic(damages in proptest::collection::vec((0usize..2000, "[-+.0-9eD \n=,&/(]{0,3}"), 1..4)) {
        let mut text = H4.to_owned();
        for (at, with) in damages {
            let at = at % text.len();
            text.replace_range(at..text.len().min(at + with.len() + 1), &with);
        }
        if let Ok(molecule) = text.parse::<Molecule>() {
            prop_assert_eq!(molecule.occupied().len(), molecule.n_electrons());
            let _ = molecule.hamiltonian(Mapping::JordanWigner);
            let _ = molecule.active_space(&[0], &[2, 1]).map(|space| space.hamiltonian(Mapping::Parity));
        }
    }
}

#[test]
fn ladder_operators_anticommute_under_every_map() {
    for mapping in Mapping::ALL {
        for n in [1, 2, 3, 5, 6, 8, 11, 63] {
            let orbitals: Vec<usize> =
                if n < 12 { (0..n).collect() } else { vec![0, 31, 32, 61, 62] };
            let all: Vec<PauliSum> = orbitals
                .iter()
                .flat_map(|&p| majoranas(p))
                .map(|m| mapping.map(&m, n).unwrap())
                .collect();
            for (i, a) in all.iter().enumerate() {
                for (j, b) in all.iter().enumerate() {
                    let expected = if i == j { "2" } else { "0" };
                    assert_eq!(
                        a.anticommutator(b).unwrap().to_string(),
                        expected,
                        "{mapping:?} {n} {i} {j}"
                    );
                }
            }
        }
    }
}

#[test]
fn strings_are_those_of_openfermion() {
    let given =
        operator("0.5 [2^ 0] + 0.5 [0^ 2] + 0.25 [4^ 3^ 1 0] + 0.25 [0^ 1^ 3 4] - 1.5 [3^ 3]");
    let expect = |mapping: Mapping, n, text: &str| {
        let (found, expected) = (mapping.map(&given, n).unwrap(), text.parse().unwrap());
        assert!(same(&found, &expected) && found.terms().len() == 12, "{mapping:?} {n}: {found}");
    };
    expect(
        Mapping::JordanWigner,
        5,
        "-0.75 - 0.03125 X0 X1 X3 X4 + 0.03125 X0 X1 Y3 Y4 - 0.03125 X0 Y1 X3 Y4 - 0.03125 X0 Y1 Y3 X4 \
         + 0.25 X0 Z1 X2 - 0.03125 Y0 X1 X3 Y4 - 0.03125 Y0 X1 Y3 X4 + 0.03125 Y0 Y1 X3 X4 \
         - 0.03125 Y0 Y1 Y3 Y4 + 0.25 Y0 Z1 Y2 + 0.75 Z3",
    );
    expect(
        Mapping::BravyiKitaev,
        5,
        "-0.75 + 0.25 X0 Y1 Y2 + 0.03125 X0 Z1 Z2 Y3 Y4 - 0.03125 X0 Z1 X3 X4 + 0.03125 X0 Z2 Y3 Y4 \
         - 0.03125 X0 X3 X4 - 0.25 Y0 Y1 X2 - 0.03125 Y0 Z1 Z2 Y3 X4 - 0.03125 Y0 Z1 X3 Y4 \
         - 0.03125 Y0 Z2 Y3 X4 - 0.03125 Y0 X3 Y4 + 0.75 Z1 Z2 Z3",
    );
    for n in [6, 7] {
        expect(
            Mapping::BravyiKitaev,
            n,
            "-0.75 + 0.25 X0 Y1 Y2 + 0.03125 X0 Z1 Z2 Y3 Y4 X5 - 0.03125 X0 Z1 X3 X4 X5 \
             + 0.03125 X0 Z2 Y3 Y4 X5 - 0.03125 X0 X3 X4 X5 - 0.25 Y0 Y1 X2 - 0.03125 Y0 Z1 Z2 Y3 X4 X5 \
             - 0.03125 Y0 Z1 X3 Y4 X5 - 0.03125 Y0 Z2 Y3 X4 X5 - 0.03125 Y0 X3 Y4 X5 + 0.75 Z1 Z2 Z3",
        );
    }
    // Its parity code is of 6 modes, none of which changes the others.
    expect(
        Mapping::Parity,
        5,
        "-0.75 - 0.25 X0 X1 Z2 - 0.03125 X0 Z1 Z2 X3 Z4 - 0.03125 X0 Z1 X3 - 0.03125 X0 Z2 X3 Z4 \
         - 0.03125 X0 X3 - 0.25 Y0 Y1 - 0.03125 Y0 Z1 Z2 Y3 - 0.03125 Y0 Z1 Y3 Z4 - 0.03125 Y0 Z2 Y3 \
         - 0.03125 Y0 Y3 Z4 + 0.75 Z2 Z3",
    );
}

#[test]
fn normal_order_is_that_of_openfermion() {
    let order = |text: &str| operator(text).normal_ordered().unwrap().to_string();
    assert_eq!(order("[1 0^ 1^ 0 1]"), "1 [0^ 1 0]");
    assert_eq!(order("(1+2j) [2 1 2^]"), "(1+2j) [2^ 2 1] +\n(-1-2j) [1]");
    assert_eq!(order("[3 3] + [2^ 2^]"), "0");
    assert_eq!(order("[0 0^] + [0^ 0]"), "1 []");
}

#[test]
fn text_is_as_openfermion_writes_it() {
    for (text, printed) in [
        ("[2^ 0]", "1 [2^ 0]"),
        ("-[]", "-1 []"),
        (" 0.5 [ 2^  0 ] - 2e-3[1]", "0.5 [2^ 0] +\n-0.002 [1]"),
        (
            "1j [0] + (0.5-2j) [1^] +\n-(1e-2+1E+1j) [1] + (1+0j) [] - j [3]",
            "(0+1j) [0] +\n(0.5-2j) [1^] +\n(-0.01-10j) [1] +\n1 [] +\n(-0-1j) [3]",
        ),
        ("0", "0"),
    ] {
        assert_eq!(operator(text).to_string(), printed, "{text}");
    }
    for (text, error) in [
        ("", "column 1: expected a term such as `0.5 [2^ 0]`, found the end"),
        ("0.5 [2^ 0] 3", "column 12: expected a term such as `0.5 [2^ 0]`, found `3`"),
        ("[1] [2]", "column 5: expected `+`, `-` or the end, found `[2]`"),
        ("[1 2", "column 5: expected `]`, found the end"),
        ("[1^ x]", "column 5: expected an orbital such as `2^` or `0`, found `x`"),
        ("[1^^]", "column 2: expected an orbital such as `2^` or `0`, found `1^^`"),
        ("[63]", "column 2: orbital 63 is beyond any state"),
        (
            "µ [0]",
            "column 1: expected a coefficient such as `-0.5` or `(0.5-2j)`, then `[`, found `µ [0]`",
        ),
        (
            "inf [0]",
            "column 1: expected a coefficient such as `-0.5` or `(0.5-2j)`, then `[`, found `inf [0]`",
        ),
        ("1e999 [0]", "column 1: the coefficient 1e999 is not a finite number"),
    ] {
        assert_eq!(text.parse::<FermionOperator>().unwrap_err().to_string(), error, "{text}");
    }
}

#[test]
fn what_is_no_observable_is_refused() {
    let error =
        |text: &str, n| Mapping::JordanWigner.map(&operator(text), n).unwrap_err().to_string();
    assert_eq!(error("[1^ 0]", 2), "it is not Hermitian: Y0 X1 has the coefficient (0+0.25j)");
    assert_eq!(error("[5^ 5]", 4), "orbital 5 does not exist: there are 4, counted from 0");
    assert_eq!(error("[0]", 64), "orbital 63 is beyond any state");
    let long: Vec<String> = (0..30).map(|p| p.to_string()).collect();
    let long = format!("[{}]", long.join(" "));
    assert_eq!(
        error(&long, 30),
        "a product acts on 30 orbitals, more than 20: it is a sum of 2^30 Pauli strings"
    );
    assert!(Mapping::Parity.encode(3, 0b1000).is_err() && Mapping::Parity.encode(64, 0).is_err());
    // Orbitals that come again are no more strings.
    let again = vec!["1^ 1"; 500].join(" ");
    assert!(same(
        &Mapping::BravyiKitaev.map(&operator(&format!("[{again}]")), 2).unwrap(),
        &Mapping::BravyiKitaev.map(&operator("[1^ 1]"), 2).unwrap()
    ));
    for mapping in Mapping::ALL {
        assert_eq!(Mapping::named(mapping.name()), Some(mapping));
    }
    assert_eq!(Mapping::named("jordan"), None);
}

/// The lowest level with the molecule's electrons.
fn ground(molecule: &Molecule, mapping: Mapping) -> f64 {
    let n = 2 * molecule.n_orbitals();
    let penalized = molecule.fermions().unwrap() + molecule.penalty(1.0).unwrap();
    lowest(&mapping.map(&penalized, n).unwrap(), n)
}

#[test]
fn the_penalty_is_the_weight_times_the_squares_of_the_electrons_missing() {
    // Three electrons, two up: for each state (N_up - 2)^2 + (N_down - 1)^2.
    let molecule = molecule("&FCI NORB=3 NELEC=3 MS2=1 /");
    let matrix = on_occupations(&molecule.penalty(0.25).unwrap(), 6);
    for state in 0usize..64 {
        let off = |mask: usize, n: i32| ((state & mask).count_ones() as i32 - n).pow(2);
        let expected = 0.25 * f64::from(off(0b01_0101, 2) + off(0b10_1010, 1));
        assert!((matrix[(state, state)].re - expected).abs() < ROUNDING, "{state}");
    }
    assert!((&matrix - DMatrix::from_diagonal(&matrix.diagonal())).norm() < ROUNDING);
    // Helium hydride would rather be neutral: PySCF's energy of the cation is not the lowest level.
    let cation = self::molecule(HEH);
    let neutral = lowest(&cation.hamiltonian(Mapping::JordanWigner).unwrap(), 4);
    assert!(
        neutral < -3.0
            && (ground(&cation, Mapping::JordanWigner) + 2.851_024_029_977_419).abs() < DIGITS
    );
}

/// Hydrogen at .74 A in STO-3G, its integrals rounded to six digits, with some number of electrons.
fn hydrogen(electrons: usize) -> Molecule {
    let body = "0.674756 1 1 1 1\n0.181210 2 1 2 1\n0.663711 1 1 2 2\n0.697652 2 2 2 2\n-1.253310 1 1 0 0\n-0.475069 2 2 0 0\n0.715104 0 0 0 0";
    molecule(&format!("&FCI NORB=2,NELEC={electrons} /\n{body}"))
}

/// The lowest eigenvalue of the matrix on the occupations that hold the electrons.
fn lowest_of_block(molecule: &Molecule) -> f64 {
    let n = 2 * molecule.n_orbitals();
    let matrix = on_occupations(&molecule.fermions().unwrap(), n);
    let up = 0x5555_5555usize;
    let ups = (molecule.n_electrons() as isize + molecule.ms2()) as u32 / 2;
    let downs = molecule.n_electrons() as u32 - ups;
    let held =
        (0..1 << n).filter(|k| (k & up).count_ones() == ups && (k & !up).count_ones() == downs);
    let held: Vec<usize> = held.collect();
    let block = DMatrix::from_fn(held.len(), held.len(), |i, j| matrix[(held[i], held[j])]);
    block.symmetric_eigenvalues().min()
}

#[test]
fn the_lowest_level_of_some_electrons_is_found_whatever_ions_have() {
    // All orbitals are full: 2 h11 + 2 h22 + J11 + J22 + 4 J12 - 2 K12 + E.
    let full = hydrogen(4);
    let energy = 2.0 * (-1.253_310 - 0.475_069) + 0.674_756 + 0.697_652 + 4.0 * 0.663_711
        - 2.0 * 0.181_210
        + 0.715_104;
    assert!((lowest_of_block(&full) - energy).abs() < ROUNDING);
    let mut molecules: Vec<Molecule> = (0..=4).map(hydrogen).collect();
    for (electrons, ms2) in [(0, 0), (1, 1), (2, 2), (3, -1), (4, 0), (5, 1), (6, 0)] {
        molecules.push(molecule(
            &REAL_P.replace("NELEC=4,MS2=0", &format!("NELEC={electrons},MS2={ms2}")),
        ));
        molecules.push(molecule(
            &COMPLEX_P.replace("NELEC=4,MS2=0", &format!("NELEC={electrons},MS2={ms2}")),
        ));
    }
    for molecule in &molecules {
        let n = 2 * molecule.n_orbitals();
        let expected = lowest_of_block(molecule);
        let weight = molecule.sufficient_penalty().unwrap();
        assert!(weight >= 0.0);
        for mapping in Mapping::ALL {
            let holds = |state: usize| molecule.holds(mapping.decode(n, state).unwrap());
            let sum = molecule.hamiltonian(mapping).unwrap();
            let found = Simulator::new().lowest_among(&sum, n, 1, &holds).unwrap()[0].energy;
            assert!((found - expected).abs() < 1e-9, "{mapping:?}: {found} {expected}");
            // With the penalty it is the lowest of all.
            let all = molecule.fermions().unwrap() + molecule.penalty(weight).unwrap();
            let found = lowest(&mapping.map(&all, n).unwrap(), n);
            assert!(
                (found - expected).abs() < 1e-9,
                "{mapping:?}, weight {weight}: {found} {expected}"
            );
            // On the qubits that symmetries leave, the states are some of them.
            let state = molecule.reference(mapping).unwrap();
            assert!(holds(state));
            let tapering = Tapering::new(&sum, n, state).unwrap();
            assert_eq!(tapering.untapered(tapering.state()), state);
            let holds = |state: usize| holds(tapering.untapered(state));
            let tapered = tapering.taper(&sum).unwrap();
            let found =
                Simulator::new().lowest_among(&tapered, tapering.n_qubits(), 1, &holds).unwrap();
            assert!(found[0].energy > expected - 1e-9, "{mapping:?}");
        }
    }
    // A weight of 1 is not.
    let all = full.fermions().unwrap() + full.penalty(1.0).unwrap();
    assert!(lowest(&Mapping::JordanWigner.map(&all, 4).unwrap(), 4) < energy - 0.1);
    for mapping in Mapping::ALL {
        for occupations in 0..64 {
            let state = mapping.encode(6, occupations).unwrap();
            assert_eq!(mapping.decode(6, state).unwrap(), occupations);
        }
        assert!(mapping.decode(3, 0b1000).is_err() && mapping.decode(64, 0).is_err());
    }
}

#[test]
fn molecules_have_the_energies_of_full_configuration_interaction() {
    let (all, [jordan_wigner, parity, _]) = (Mapping::ALL, Mapping::ALL.map(|m| [m]));
    for (text, hartree_fock, exact, mappings) in [
        (H4, -2.124_259_738_972_812, -2.180_316_614_323_861, &all[..]),
        (HEH, -2.841_382_489_834_08, -2.851_024_029_977_419, &all),
        (LIH, -7.862_026_959_394_139, -7.882_403_410_335_502, &jordan_wigner),
        (OH, -74.361_530_726_138_14, -74.387_134_127_209_78, &parity),
    ] {
        let molecule = molecule(text);
        let n = 2 * molecule.n_orbitals();
        for &mapping in mappings {
            let occupied = molecule.occupied().iter().fold(0, |mask, p| mask | 1 << p);
            let state = mapping.encode(n, occupied).unwrap();
            let ones: Vec<usize> = (0..n).filter(|q| state >> q & 1 == 1).collect();
            let state = Circuit::build(n, |c| c.x(ones)).unwrap();
            let energy = Expectation::new(state, [molecule.hamiltonian(mapping).unwrap()]).unwrap();
            let energy: f64 = energy.value(&[]).unwrap();
            assert!((energy - hartree_fock).abs() < DIGITS, "{mapping:?}: {energy} {hartree_fock}");
            let found = ground(&molecule, mapping);
            assert!((found - exact).abs() < DIGITS, "{mapping:?}: {found} {exact}");
        }
    }
}

#[test]
fn spectra_do_not_depend_on_the_map() {
    let molecule = molecule(H4);
    let [jordan_wigner, parity, bravyi_kitaev] =
        Mapping::ALL.map(|mapping| levels(&molecule.hamiltonian(mapping).unwrap(), 8));
    for (k, level) in jordan_wigner.iter().enumerate() {
        assert!((level - parity[k]).abs() < ROUNDING * 100.0, "{k}");
        assert!((level - bravyi_kitaev[k]).abs() < ROUNDING * 100.0, "{k}");
    }
}

#[test]
fn numbers_of_electrons_are_whole_and_kept() {
    let hamiltonian = molecule(H4).fermions().unwrap();
    let number = FermionOperator::number(8).unwrap();
    for mapping in Mapping::ALL {
        let counts = levels(&mapping.map(&number, 8).unwrap(), 8);
        let expected: Vec<f64> = [1, 8, 28, 56, 70, 56, 28, 8, 1]
            .into_iter()
            .enumerate()
            .flat_map(|(k, times)| vec![k as f64; times])
            .collect();
        assert!(counts.iter().zip(&expected).all(|(a, b)| (a - b).abs() < ROUNDING * 10.0));
        let (h, n) = (mapping.map(&hamiltonian, 8).unwrap(), mapping.map(&number, 8).unwrap());
        assert!(same(&h.commutator(&n).unwrap(), &PauliSum::default()));
    }
    assert!(hamiltonian.is_hermitian());
}

#[test]
fn frozen_electrons_leave_the_hamiltonian_of_the_active_space() {
    // The orbitals of the file that is built in, whose energies are another program's.
    let lih = molecule(LIH).active_space(&[0], &[1, 2, 5]).unwrap();
    assert_eq!((lih.n_orbitals(), lih.n_electrons(), lih.ms2()), (3, 2, 0));
    let found = lowest(&lih.hamiltonian(Mapping::Parity).unwrap(), 6);
    assert!((found + 7.881_146_468_514_302).abs() < DIGITS, "{found}");
    // The same spectrum as in the file, whatever the signs of its orbitals.
    let [ours, file] = [lih.hamiltonian(Mapping::JordanWigner).unwrap(), problem::lih()]
        .map(|sum| levels(&sum, 6));
    assert!(ours.iter().zip(&file).all(|(a, b)| (a - b).abs() < 1e-8));
    // CASCI of 3 electrons in orbitals 3 and 4 of OH.
    let oh = molecule(OH).active_space(&[0, 1, 2], &[4, 3]).unwrap();
    assert_eq!((oh.n_electrons(), oh.ms2(), oh.occupied()), (3, 1, vec![0, 1, 2]));
    let found = ground(&oh, Mapping::BravyiKitaev);
    assert!((found + 74.361_530_726_138_16).abs() < DIGITS, "{found}");
    // Nothing frozen, everything kept, in another order: the same electrons.
    let h4 = molecule(H4);
    assert_eq!(h4.active_space(&[], &[0, 1, 2, 3]).unwrap(), h4);
    let turned = h4.active_space(&[], &[2, 0, 3, 1]).unwrap();
    let [turned, level] = [&turned, &h4].map(|m| ground(m, Mapping::JordanWigner));
    assert!((turned - level).abs() < DIGITS);
    let error = |frozen: &[usize], active: &[usize]| {
        h4.active_space(frozen, active).unwrap_err().to_string()
    };
    assert_eq!(error(&[0], &[4]), "orbital 4 does not exist: there are 4, counted from 0");
    assert_eq!(error(&[0], &[1, 0]), "orbital 0 comes twice");
    assert_eq!(
        error(&[0, 1, 2], &[3]),
        "3 frozen orbitals hold an electron of each spin: there are 2 and 2"
    );
    assert_eq!(
        error(&[0], &[]),
        "1 electrons with spin up and 1 with spin down do not fit into 0 orbitals"
    );
}

#[test]
fn coupled_cluster_is_the_same_under_every_map() {
    let molecule = molecule(H4);
    let at: Vec<f64> = (0..26).map(|k| 0.1 + 0.03 * k as f64).collect();
    let mut energies = Vec::new();
    for mapping in Mapping::ALL {
        let circuit = ansatz::uccsd_from(8, &molecule.occupied(), mapping).unwrap();
        assert_eq!(circuit.inputs().count(), 26);
        let energy = Expectation::new(circuit, [molecule.hamiltonian(mapping).unwrap()]).unwrap();
        energies.push(energy.value(&at).unwrap());
        let (end, _) =
            minimize(&energy, &[0.0; 26], &Optimizer::from(Lbfgs::default()), &Stopping::default())
                .unwrap();
        // Within chemical accuracy of the exact energy, and above it.
        let above = end.best.1 + 2.180_316_614_323_861;
        assert!((-DIGITS..1.6e-3).contains(&above), "{mapping:?}: {above}");
    }
    assert!(energies.iter().all(|e| (e - energies[0]).abs() < ROUNDING * 10.0), "{energies:?}");
    // An open shell: two electrons with spin up.
    let triplet = "&FCI NORB=3 NELEC=2 MS2=2 /".parse::<Molecule>().unwrap();
    assert_eq!(triplet.occupied(), [0, 2]);
    let circuit = ansatz::uccsd_from(6, &triplet.occupied(), Mapping::BravyiKitaev).unwrap();
    assert_eq!(circuit.inputs().count(), 2);
    for (occupied, error) in [(&[6][..], "qubit 6"), (&[1, 1], "qubit 1 is used twice")] {
        let found = ansatz::uccsd_from(6, occupied, Mapping::Parity).unwrap_err().to_string();
        assert!(found.contains(error), "{found}");
    }
}

/// A molecule on the qubits that its symmetries leave: the tapering and the Hamiltonian.
fn tapered(molecule: &Molecule, mapping: Mapping) -> (Tapering, PauliSum) {
    let (n, hamiltonian) = (2 * molecule.n_orbitals(), molecule.hamiltonian(mapping).unwrap());
    let occupied = molecule.occupied().iter().fold(0, |mask, p| mask | 1 << p);
    let tapering = Tapering::new(&hamiltonian, n, mapping.encode(n, occupied).unwrap()).unwrap();
    let sum = tapering.taper(&hamiltonian).unwrap();
    (tapering, sum)
}

#[test]
fn the_reference_state_is_found_in_any_order_of_orbitals() {
    for (text, order, hartree_fock) in [
        (LIH, [5, 1, 3, 0, 4, 2], -7.862_026_959_394_139),
        (LIH, [2, 3, 4, 5, 1, 0], -7.862_026_959_394_139),
        // An unpaired electron, in one of two orbitals of the same energy.
        (OH, [5, 3, 4, 0, 2, 1], -74.361_530_726_138_14),
    ] {
        let molecule = molecule(text).active_space(&[], &order).unwrap();
        let occupied = molecule.occupied();
        let ups = occupied.iter().filter(|p| *p % 2 == 0).count() as isize;
        assert_eq!(2 * ups - occupied.len() as isize, molecule.ms2());
        for mapping in Mapping::ALL {
            let reference = molecule.reference(mapping).unwrap();
            let ones: Vec<usize> = (0..12).filter(|q| reference >> q & 1 == 1).collect();
            let state = Circuit::build(12, |c| c.x(ones)).unwrap();
            let hamiltonian = molecule.hamiltonian(mapping).unwrap();
            let energy: f64 = Expectation::new(state, [hamiltonian]).unwrap().value(&[]).unwrap();
            assert!((energy - hartree_fock).abs() < DIGITS, "{order:?} {mapping:?}: {energy}");
        }
    }
    // Nothing to choose by.
    assert_eq!(molecule("&FCI NORB=3 NELEC=3 MS2=1 /").occupied(), [0, 1, 2]);
}

#[test]
fn symmetries_take_qubits_off() {
    // Qubits left by PennyLane 0.45: qml.symmetry_generators finds 3, 2 and 4 for these molecules.
    for (text, left, exact) in [
        (H4, 5, -2.180_316_614_323_861),
        (HEH, 2, -2.851_024_029_977_419),
        (LIH, 8, -7.882_403_410_335_502),
    ] {
        for mapping in Mapping::ALL {
            let (tapering, sum) = tapered(&molecule(text), mapping);
            assert_eq!((tapering.n_qubits(), sum.n_qubits()), (left, left), "{mapping:?}");
            let found = lowest(&sum, left);
            assert!((found - exact).abs() < DIGITS, "{mapping:?}: {found}");
        }
    }
    // The parities of all basis states together give the whole spectrum.
    let sum = molecule(HEH).hamiltonian(Mapping::BravyiKitaev).unwrap();
    let mut sectors = std::collections::BTreeMap::new();
    for state in 0..16 {
        let tapering = Tapering::new(&sum, 4, state).unwrap();
        let values: Vec<bool> = tapering.parities().iter().map(|parity| parity.1).collect();
        for (string, value) in tapering.parities() {
            assert!(sum.commutator(&string.clone().into()).unwrap().terms().is_empty());
            let ones = (state & string.z_mask()).count_ones() % 2 == 1;
            assert_eq!(ones, value);
        }
        // The mean of a state is that of what is left of it.
        let mean = |sum: &PauliSum, state: usize| -> f64 {
            let sign = |z: usize| if (state & z).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
            sum.terms().iter().filter(|t| t.1.x_mask() == 0).map(|t| t.0 * sign(t.1.z_mask())).sum()
        };
        let left = tapering.taper(&sum).unwrap();
        assert!((mean(&left, tapering.state()) - mean(&sum, state)).abs() < ROUNDING);
        sectors.entry(values).or_insert_with(|| levels(&left, tapering.n_qubits()));
    }
    let mut all: Vec<f64> = sectors.into_values().flatten().collect();
    all.sort_by(f64::total_cmp);
    let whole = levels(&sum, 4);
    assert_eq!(all.len(), 16);
    assert!(all.iter().zip(&whole).all(|(a, b)| (a - b).abs() < ROUNDING));
}

#[test]
fn excitations_that_keep_the_symmetries_are_enough() {
    let molecule = molecule(H4);
    for mapping in Mapping::ALL {
        let (tapering, sum) = tapered(&molecule, mapping);
        let all = ansatz::excitations_from(8, &molecule.occupied(), mapping).unwrap();
        let kept: Vec<PauliSum> = all.iter().filter_map(|g| tapering.taper(g)).collect();
        assert!(kept.len() < all.len());
        let ones: Vec<usize> = (0..5).filter(|q| tapering.state() >> q & 1 == 1).collect();
        let circuit = ansatz::exponentials(5, &ones, &kept).unwrap();
        let energy = Expectation::new(circuit, [sum]).unwrap();
        let start = vec![0.0; kept.len()];
        assert!((energy.value::<f64>(&start).unwrap() + 2.124_259_738_972_812).abs() < DIGITS);
        let optimizer = Optimizer::from(Lbfgs::default());
        let (end, _) = minimize(&energy, &start, &optimizer, &Stopping::default()).unwrap();
        let above = end.best.1 + 2.180_316_614_323_861;
        assert!((-DIGITS..1.6e-3).contains(&above), "{mapping:?}: {above}");
    }
}

#[test]
fn what_cannot_be_tapered_is_refused() {
    let sum: PauliSum = "Z0 Z1 + X0 X1".parse().unwrap();
    let tapering = Tapering::new(&sum, 3, 0b101).unwrap();
    // Z0 Z1 is conserved, and Z2 of a qubit that nothing acts on.
    let parities: Vec<String> =
        tapering.parities().iter().map(|(string, value)| format!("{string} {value}")).collect();
    assert_eq!(parities, ["Z0 Z1 true", "Z2 true"]);
    assert_eq!(tapering.taper(&sum).unwrap().to_string(), "-1 + X0");
    assert_eq!(tapering.taper(&"Y0 Y1 + Y0 X1".parse().unwrap()).unwrap().to_string(), "X0 + Y0"); // on |01> and |10>
    assert!(tapering.taper(&"X0".parse().unwrap()).is_none());
    // Nothing is conserved, or everything.
    assert_eq!(Tapering::new(&"Z0 + X0".parse().unwrap(), 1, 1).unwrap().n_qubits(), 1);
    let empty = Tapering::new(&"Z0 - 2 Z0 Z1".parse().unwrap(), 2, 0b10).unwrap();
    assert_eq!(
        (empty.n_qubits(), empty.taper(&"Z0 - 2 Z0 Z1".parse().unwrap()).unwrap().to_string()),
        (0, "3".to_owned())
    );
    assert!(Tapering::new(&sum, 1, 0).is_err() && Tapering::new(&sum, 2, 0b100).is_err());
    assert!(Tapering::new(&sum, 64, 0).is_err());
}

#[test]
fn headers_come_in_many_forms() {
    let body = "\n 0.7d0 1 1 1 1\n -1.25D+00 1 1 0 0\n 0.3 2 1 0 0\n-0.5 1 0 0 0\n 2.0-101 2 2 2 2\n 0.5 0 0 0 0\n";
    let same = [
        "&FCI NORB=2,NELEC=2,MS2=0,\n ORBSYM=1,1,\n ISYM=1,\n &END",
        "&fci nelec = 2 , norb = 2 /",
        "\n\n $FCI\n ms2=0\n NORB\n =\n 2\n nelec=2 orbsym=2*1 $END",
        "&FCI ! a comment, NORB=7\nNORB=2 NELEC=2 IUHF=0 UHF=.FALSE. NPROP=1 1 1, SYML=-1,-1 &end",
    ]
    .map(|header| molecule(&format!("{header}{body}")));
    assert_eq!((same[0].n_orbitals(), same[0].n_electrons(), same[0].constant()), (2, 2, 0.5));
    assert!(same.iter().all(|m| *m == same[0]));
    // All eight orders are one integral, and lines may end as on any system.
    let orders = |i| ["2 1 3 3", "1 2 3 3", "3 3 2 1", "3 3 1 2"][i];
    let file = |i| format!("&FCI NORB=3,NELEC=1 /\r\n 0.25 {}\r\n 0.25 1 2 3 3\r\n", orders(i));
    assert!((1..4).all(|i| molecule(&file(i)) == molecule(&file(0))));
}

/// The orbitals s, x and y of an atom, and s, `(x - i y) / sqrt 2` and `(x + i y) / sqrt 2`, each
/// integral once: the former by their values, the latter by what follows from these, such as
/// `(-+|+-) = ((xx|xx) - (xx|yy)) / 2 + (xy|xy)`, which is `2 (xy|xy)`, while `(-+|-+)` is zero.
const REAL_P: &str = "&FCI NORB=3,NELEC=4,MS2=0 /
 0.9 1 1 1 1
 0.7 1 1 2 2
 0.7 1 1 3 3
 0.2 1 2 1 2
 0.2 1 3 1 3
 0.6 2 2 2 2
 0.6 3 3 3 3
 0.5 2 2 3 3
 0.05 2 3 2 3
-2.0 1 1 0 0
-1.0 2 2 0 0
-1.0 3 3 0 0
 0.25 0 0 0 0";
const COMPLEX_P: &str = "&FCI NORB=3,NELEC=4,MS2=0,SYMLZ=0,-1,1 /
 0.9 1 1 1 1
 0.7 1 1 2 2
 0.7 1 1 3 3
 0.2 1 2 2 1
 0.2 3 1 1 3
 0.2 1 2 1 3
 0.55 2 2 2 2
 0.55 3 3 3 3
 0.55 2 2 3 3
 0.1 2 3 3 2
-2.0 1 1 0 0
-1.0 2 2 0 0
-1.0 3 3 0 0
 0.25 0 0 0 0";

#[test]
fn complex_orbitals_with_angular_momenta_have_the_levels_of_real_ones() {
    let (real, complex) = (molecule(REAL_P), molecule(COMPLEX_P));
    let spectrum = |molecule: &Molecule, mapping: Mapping| {
        levels(&molecule.hamiltonian(mapping).unwrap(), 2 * molecule.n_orbitals())
    };
    let same = |a: &Molecule, b: &Molecule| {
        let [a, b] = [a, b].map(|m| spectrum(m, Mapping::JordanWigner));
        a.iter().zip(&b).all(|(a, b)| (a - b).abs() < ROUNDING * 100.0)
    };
    assert!(same(&real, &complex));
    let parity = spectrum(&complex, Mapping::Parity);
    let levels = spectrum(&complex, Mapping::JordanWigner);
    assert!(levels.iter().zip(&parity).all(|(a, b)| (a - b).abs() < ROUNDING * 100.0));
    // s is full, x and y hold two electrons: the triplet, and the singlet that is degenerate.
    let core = 0.25 - 2.0 * 2.0 + 0.9 + 2.0 * (-1.0 + 2.0 * 0.7 - 0.2);
    for energy in [core + 0.5 - 0.05, core + 0.5 + 0.05] {
        let near = levels.iter().map(|level| (level - energy).abs()).fold(f64::INFINITY, f64::min);
        assert!(near < ROUNDING * 100.0, "{energy}: {near}");
    }
    for (frozen, active) in
        [(&[0][..], &[1, 2][..]), (&[0], &[2, 1]), (&[1, 2], &[0]), (&[], &[2, 0, 1])]
    {
        let [real, complex] = [&real, &complex].map(|m| m.active_space(frozen, active).unwrap());
        assert!(same(&real, &complex), "{frozen:?} {active:?}");
    }
    // As in files that list all equal ones, and of an axis that points the other way.
    let all = COMPLEX_P.replace(
        "\n 0.1 2 3 3 2",
        "\n 0.1 3 2 2 3\n 0.1 2 3 3 2\n 0.2 2 1 1 2\n 0.2 1 3 1 2\n 0.2 2 1 3 1",
    );
    assert_eq!(molecule(&all), complex);
    assert!(same(&molecule(&COMPLEX_P.replace("=0,-1,1", "=0,1,-1")), &real));
    // Labels of real orbitals for a later transformation.
    assert_eq!(molecule(&REAL_P.replace("MS2=0", "SYMLZ=0,-1,1")), real);
    assert_eq!(molecule(&REAL_P.replace("MS2=0", "SYMLZ=3*0")), real);
}

#[test]
fn faults_of_files_are_named_with_their_line() {
    let error = |text: &str| text.parse::<Molecule>().unwrap_err().to_string();
    let body = |line: &str| error(&format!("&FCI NORB=2,\n NELEC=2 &END\n 0.5 1 1 1 1\n{line}\n"));
    for (line, fault) in [
        (
            "0.5 1 1",
            "line 4: expected a value and four orbitals, such as `0.5 1 1 2 2`, found `0.5 1 1`",
        ),
        (
            "1 1 1 1 1 1",
            "line 4: expected a value and four orbitals, such as `0.5 1 1 2 2`, found `1 1 1 1 1 1`",
        ),
        (
            "x 1 1 1 1",
            "line 4: expected a value and four orbitals, such as `0.5 1 1 2 2`, found `x 1 1 1 1`",
        ),
        (
            "0.5 1 -1 1 1",
            "line 4: expected a value and four orbitals, such as `0.5 1 1 2 2`, found `0.5 1 -1 1 1`",
        ),
        ("0.5 1 3 1 1", "line 4: orbital 3 does not exist: NORB is 2"),
        (
            "0.5 99999999999999999999 1 1 1",
            "line 4: orbital 99999999999999999999 does not exist: NORB is 2",
        ),
        ("nan 1 1 1 1", "line 4: the value nan is not a finite number"),
        ("1d999 1 1 1 1", "line 4: the value 1d999 is not a finite number"),
        (
            "0.5 1 1 1 0",
            "line 4: no integral has the orbitals 1 1 1 0: of i j k l, zero are none, k and l, all but i, or all",
        ),
        (
            "(0.5,0.0) 1 1 1 1",
            "line 4: complex integrals are not supported: the integrals must be real, of orbitals that both spins share; write those of real orbitals",
        ),
        (
            "0.6 1 1 1 1",
            "line 4: it was 0.5 before: integrals of real orbitals are equal under i <-> j, k <-> l and ij <-> kl",
        ),
    ] {
        assert_eq!(body(line), fault);
    }
    for (text, fault) in [
        ("", "line 1: expected an FCIDUMP, which begins with `&FCI`, found nothing"),
        ("\n Z0 Z1", "line 2: expected an FCIDUMP, which begins with `&FCI`, found `Z0`"),
        ("&FCI NORB=2", "line 1: the header does not end: expected `&END` or `/`"),
        ("&FCI NELEC=2\n &END", "line 2: the header does not say NORB"),
        ("&FCI NORB=2 /", "line 1: the header does not say NELEC"),
        (
            "&FCI NORB=0,NELEC=0 /",
            "line 1: NORB: expected a whole number from 1 to 1000, found `0`",
        ),
        (
            "&FCI NORB=2,\nNELEC=5 /",
            "line 2: NELEC: expected a whole number from 0 to 4, found `5`",
        ),
        (
            "&FCI NORB=2,NELEC= , MS2=0 /",
            "line 1: NELEC: expected a whole number from 0 to 4, found ``",
        ),
        ("&FCI NORB=2,NELEC=1 2 /", "line 1: NELEC: expected one number, found `2`"),
        (
            "&FCI NORB=2,NELEC=2,MS2=1 /",
            "line 1: MS2: expected an even number: NELEC is even, found `1`",
        ),
        (
            "&FCI NORB=2,NELEC=3,MS2=-3 /",
            "line 1: 0 electrons with spin up and 3 with spin down do not fit into 2 orbitals",
        ),
        (
            "&FCI NORB=2,NELEC=2,ORBSYM=1 /",
            "line 1: ORBSYM: expected 2, one an orbital, found `1 numbers`",
        ),
        (
            "&FCI NORB=2,NELEC=2,\nIUHF=1 /",
            "line 2: orbitals of unrestricted Hartree–Fock (IUHF) are not supported: the integrals must be real, of orbitals that both spins share; write the file after restricted Hartree–Fock",
        ),
        (
            "&FCI NORB=2,NELEC=2,UHF=.TRUE. /",
            "line 1: orbitals of unrestricted Hartree–Fock (UHF) are not supported: the integrals must be real, of orbitals that both spins share; write the file after restricted Hartree–Fock",
        ),
    ] {
        assert_eq!(error(text), fault);
    }
    // The rest of the line in which a header ends is not read.
    let plain = molecule("&FCI NORB=1,NELEC=2 / ! or &END\n 0.5 1 1 1 1");
    for header in ["&FCI NORB=1,NELEC=2 /   i a j b", "&FCI NORB=1,NELEC=2 ! i/o\n &END x(ij|kl)"] {
        assert_eq!(molecule(&format!("{header}\n 0.5 1 1 1 1")), plain, "{header}");
    }
    assert_eq!(
        error("&FCI NORB=1,\nNELEC=2 / 0.5 1 1 1 1\n"),
        "line 2: `0.5 1 1 1 1` comes after the end of the header on its line, which is not read: an integral has a line of its own"
    );
    // Orbitals with other symmetries than those of real ones.
    let momenta = |momenta: &str, body: &str| {
        error(&format!("&FCI NORB=3,NELEC=2,\nSYMLZ={momenta} /\n0.5 1 1 1 1\n{body}\n"))
    };
    for (lz, body, fault) in [
        ("0,1", "", "line 2: SYMLZ: expected 3, one an orbital, found `2 numbers`"),
        ("0,x,1", "", "line 2: SYMLZ: expected a whole number for each orbital, found `x`"),
        (
            "0,-1,1",
            "0.1 2 3 3 2\n0.2 3 2 2 3",
            "line 5: it was 0.1 before: integrals of orbitals with angular momenta (SYMLZ) are equal under ij <-> kl, and where both i <-> j and k <-> l",
        ),
        (
            "0,-1,1",
            "0.1 1 2 1 3\n0.1 2 3 2 3",
            "line 2: the angular momenta along the axis (SYMLZ) are not those of the orbitals: complex ones conserve them, which the integral in line 5 does not, and real ones have even numbers of negative ones, other than in line 4; without SYMLZ the orbitals are read as real ones",
        ),
    ] {
        assert_eq!(momenta(lz, body), fault);
    }
    assert_eq!(
        error("&FCI NORB=2,NELEC=2,\nNPROP=3,1,1 /"),
        "line 2: orbitals of a crystal (NPROP) are not supported: the integrals must be real, of orbitals that both spins share; write a file of one cell, with NPROP=1,1,1"
    );
    // More orbitals than qubits are read, and refused where they become qubits.
    let wide = molecule("&FCI NORB=40 NELEC=2 /\n1 40 40 40 40");
    assert_eq!(
        wide.hamiltonian(Mapping::Parity).unwrap_err().to_string(),
        "orbital 79 is beyond any state"
    );
    assert_eq!(
        wide.active_space(&[], &[0, 39]).unwrap().hamiltonian(Mapping::Parity).unwrap().n_qubits(),
        4
    );
}
