//! Circuits with classical variables: runs against a reference that follows every outcome.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{Circuit, CircuitError, Condition, Instruction, Operation},
    classical::{
        Arithmetic, ClassicalExpr, ClassicalType, FloatType, IntType, Relation, VariableType,
    },
    equivalent::{EquivalenceSettings, equivalent},
    exact::ClosedForm,
    param::{Q, Values},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;

const INT: ClassicalType = ClassicalType::Int(IntType::INT);

fn bound(circuit: &Circuit) -> BoundCircuit<Complex<f64>> {
    BoundCircuit::new(circuit, &Values::<f64>(&[])).unwrap()
}

/// Counts the ones of `rounds` measurements of |+>.
fn counter(rounds: i64) -> Circuit {
    let mut c = Circuit::new(1);
    c.add_register("b", 1).unwrap();
    let n = c.add_variable("n", INT).unwrap();
    let i = c.add_variable("i", INT).unwrap();
    let range = [1, 1, rounds].map(ClassicalExpr::from);
    c.for_loop(i, range, |c| {
        c.reset(0)?.h(0)?.measure(0, 0)?;
        let next = c.value_of(n)?.binary(Arithmetic::Add, 1)?;
        c.if_else(Condition::Bit { bit: 0, value: true }, |c| c.store(n, next), |c| Ok(c))
    })
    .unwrap();
    c
}

#[test]
fn a_counter_has_the_binomial_distribution() {
    let circuit = counter(12);
    let distribution = Simulator::new().distribution(&bound(&circuit), 1 << 20).unwrap();
    let mut by_count = [0.0; 13];
    let layout = ketgrad_core::classical::MemoryLayout::new(circuit.variables());
    for (memory, p) in &distribution {
        let n = memory.variable(&layout, ketgrad_core::classical::VariableId::new(0), 0);
        by_count[n as usize] += p;
    }
    let mut binomial = 1.0;
    for (k, p) in by_count.iter().enumerate() {
        assert!((p - binomial / 4096.0).abs() < 1e-14, "{k}: {p}");
        binomial = binomial * (12 - k) as f64 / (k + 1) as f64;
    }
    // Branches of one round with one count are one.
    assert!(Simulator::new().distribution(&bound(&counter(100)), 1 << 8).is_ok());
    let shots = Simulator::new().trajectory_counts(&bound(&circuit), 1000, 7).unwrap();
    assert_eq!(shots.values().sum::<u64>(), 1000);
}

#[test]
fn blocks_are_left_and_continued() {
    let mut c = Circuit::new(1);
    c.add_register("b", 2).unwrap();
    let n = c.add_variable("n", INT).unwrap();
    let i = c.add_variable("i", INT).unwrap();
    let value = |c: &Circuit, id| c.value_of(id).unwrap();
    let is = |e: ClassicalExpr, k: i64| e.compare(Relation::Equal, k).unwrap();
    c.for_loop(i, [1, 1, 10].map(ClassicalExpr::from), |c| {
        let (three, seven) = (is(value(c, i), 3), is(value(c, i), 7));
        c.when(three, |c| c.continue_loop(1))?;
        c.when(seven, |c| c.break_out(1))?;
        let sum = value(c, n).binary(Arithmetic::Add, value(c, i))?;
        c.store(n, sum)
    })
    .unwrap();
    // 1 + 2 + 4 + 5 + 6
    let eighteen = is(value(&c, n), 18);
    c.if_else(eighteen, |c| c.x(0), |c| Ok(c)).unwrap();
    c.measure(0, 0).unwrap();
    let counts = Simulator::new().trajectory_counts(&bound(&c), 10, 1).unwrap();
    assert!(counts.keys().all(|memory| memory.get(0)), "{c}");
    let outside = c.break_out(1).unwrap_err();
    assert_eq!(
        outside.to_string(),
        "1 loops and blocks cannot be left here: 0 are open, and only a loop is continued"
    );
    assert!(c.block(|c| c.continue_loop(1)).is_err());
}

#[test]
fn results_have_variables_in_their_text() {
    let mut c = counter(2);
    let w = c.add_variable("w", VariableType::array(ClassicalType::FLOAT, &[2, 2])).unwrap();
    c.store_element(w, [1.into(), (-1).into()], 0.5).unwrap();
    let angle = c.add_variable("t", ClassicalType::Complex(FloatType::F64)).unwrap();
    c.store(angle, ClassicalExpr::from(-2.0)).unwrap();
    let distribution = Simulator::new().distribution(&bound(&c), 1 << 10).unwrap();
    let texts: Vec<String> = distribution.keys().map(|memory| memory.text(&c)).collect();
    let with = |b, n| format!("{b} n={n} i=2 w=[[0, 0], [0, 0.5]] t=-2+0i");
    assert_eq!(texts, [with(0, 0), with(0, 1), with(1, 1), with(1, 2)]);
    let counts = Simulator::new().trajectory_counts(&bound(&c), 100, 3).unwrap();
    assert!(counts.keys().all(|memory| distribution.contains_key(memory)));
}

/// A value of a parameter decides once it is known.
#[test]
fn parameters_decide() {
    let mut c = Circuit::new(1);
    let a = c.param("a");
    c.add_register("b", 1).unwrap();
    let large = ClassicalExpr::angle(a * Q::from(2)).compare(Relation::Greater, 0.5).unwrap();
    c.if_else(large, |c| c.x(0), |c| Ok(c)).unwrap().measure(0, 0).unwrap();
    for (value, is_one) in [(0.3, true), (0.25, false), (-1.0, false), (1e9, true)] {
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&[value])).unwrap();
        let distribution = Simulator::new().distribution(&bound, 4).unwrap();
        assert!(distribution.keys().all(|memory| memory.get(0) == is_one), "{value}");
        // Other numbers in the same bound circuit.
        let mut again = BoundCircuit::<Complex<f64>>::new(&c, &Values(&[0.0])).unwrap();
        again.rebind(&c, &Values(&[value])).unwrap();
        assert_eq!(Simulator::new().distribution(&again, 4).unwrap(), distribution);
    }
    let missing = BoundCircuit::<Complex<f64>>::new(&c, &Values::<f64>(&[])).unwrap_err();
    assert_eq!(missing.to_string(), "no value for a");
    // Bound beforehand, too: the condition reads a number then.
    for (value, is_one) in [(0.3, true), (0.2, false)] {
        let fixed = c.bind(&[("a", value.into())]).unwrap();
        let distribution = Simulator::new().distribution(&bound(&fixed), 4).unwrap();
        assert!(distribution.keys().all(|memory| memory.get(0) == is_one), "{value}");
    }
}

#[test]
fn blocks_under_a_condition_are_in_an_if() {
    let mut c = Circuit::new(2);
    c.add_register("b", 2).unwrap();
    let n = c.add_variable("n", INT).unwrap();
    let bit = |bit| Condition::Bit { bit, value: true };
    c.h(0).unwrap().measure(0, 0).unwrap();
    c.when(bit(0), |c| {
        c.x(1)?.if_else(bit(1), |c| c.h(0), |c| c.store(n, 1))?.assign(0, false)?.x(1)
    })
    .unwrap();
    assert_eq!(
        c.to_string(),
        "h q[0]\nmeasure q[0] -> c[0]\nif (c[0] == 1) x q[1]\nif (c[0] == 1) {\n  \
         if (c[1] == 1) {\n    h q[0]\n  } else {\n    n = 1\n  }\n}\n\
         if (c[0] == 1) assign c[0] = 0\nif (c[0] == 1) x q[1]\n"
    );
    // Without the branch of an `else` that an untrue condition would choose.
    let texts: Vec<String> = Simulator::new()
        .distribution(&bound(&c), 16)
        .unwrap()
        .keys()
        .map(|memory| memory.text(&c))
        .collect();
    assert_eq!(texts, ["00 n=0", "00 n=1"]);
}

/// What needs one state before the final measurements says that there is none.
#[test]
fn circuits_that_branch_are_not_static() {
    let mut c = Circuit::new(1);
    c.add_register("b", 1).unwrap();
    let n = c.add_variable("n", INT).unwrap();
    c.h(0).unwrap().measure(0, 0).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    let branch = Circuit::clone(c.if_else(one, |c| c.store(n, 1), |c| Ok(c)).unwrap());
    let mut stored = Circuit::new(1);
    let n = stored.add_variable("n", INT).unwrap();
    stored.h(0).unwrap().store(n, 1).unwrap();
    for circuit in [branch, stored] {
        assert!(!bound(&circuit).is_static());
        assert!(ClosedForm::from_circuit(&circuit).is_err());
        let settings = EquivalenceSettings::default();
        assert!(equivalent(&circuit, &circuit, &settings, &Simulator::new()).is_err());
    }
}

/// The ends of a range have one type: a number that `uint[128]` has not makes it an `int[128]`.
#[test]
fn ranges_of_the_longest_integers_end() {
    let long = ClassicalType::Int(IntType::unsigned(128));
    let at = |value: u128| ClassicalExpr::constant(long, value);
    let cases = [
        ([(-3).into(), 1.into(), at(5)], 9),
        ([(-3).into(), (-2).into(), at(5)], 0),
        ([at(u128::MAX), (-1).into(), at(u128::MAX - 2)], 3),
        ([at((1 << 127) - 1), 1.into(), at(1 << 127)], 2),
        ([at(3), (-1).into(), 0.into()], 4),
    ];
    for (range, rounds) in cases {
        let mut c = Circuit::new(1);
        let [n, i] = ["n", "i"].map(|name| c.add_variable(name, long).unwrap());
        c.for_loop(i, range, |c| {
            let next = c.value_of(n)?.binary(Arithmetic::Add, 1)?;
            c.store(n, next)
        })
        .unwrap();
        let distribution = Simulator::new().distribution(&bound(&c), 4).unwrap();
        let texts: Vec<String> = distribution.keys().map(|memory| memory.text(&c)).collect();
        assert!(texts[0].starts_with(&format!("n={rounds} ")), "{rounds}: {texts:?}");
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let mut c = Circuit::new(1);
    c.add_register("b", 1).unwrap();
    let w = c.add_variable("w", VariableType::array(INT, &[2])).unwrap();
    let x = c.add_variable("x", ClassicalType::FLOAT).unwrap();
    let range = || [1, 1, 3].map(ClassicalExpr::from);
    let error = |result: Result<&mut Circuit, CircuitError>| result.unwrap_err().to_string();
    assert_eq!(
        error(c.for_loop(w, range(), |c| c.h(0))),
        "`w` takes 1 index, each an integer, not 0"
    );
    assert_eq!(
        error(c.for_loop(x, range(), |c| c.h(0))),
        "`x` is float[64]: the variable of a loop over a range is an integer"
    );
    let float = c.value_of(x).unwrap();
    assert_eq!(
        error(c.switch(float, |s| s.default(|c| c.h(0)))),
        "a `switch` is by an integer, and float[64] is none: convert it first"
    );
    let small = c.add_variable("s", ClassicalType::Int(IntType::signed(4))).unwrap();
    let subject = c.value_of(small).unwrap();
    assert_eq!(error(c.switch(subject, |s| s.case([8], |c| c.h(0)))), "8 is no int[4]");
    assert!(c.instructions().is_empty());
    let huge = VariableType::array(INT, &[u32::MAX, u32::MAX, u32::MAX]);
    let huge = c.add_variable("huge", huge).unwrap_err().to_string();
    assert_eq!(
        huge,
        "`huge` is too large: all variables together have at most 2^24 words of 64 bits"
    );
    let half = VariableType::array(ClassicalType::Bits(65), &[1 << 22]);
    assert!(c.add_variable("half", half.clone()).is_ok() && c.add_variable("rest", half).is_err());

    let push = |operation| {
        let mut c = Circuit::new(1);
        let (targets, controls) = Default::default();
        c.push(Instruction { operation, targets, controls, condition: None }).unwrap();
        BoundCircuit::<Complex<f64>>::new(&c, &Values::<f64>(&[])).unwrap_err().to_string()
    };
    assert_eq!(
        push(Operation::Else { body: 0 }),
        "`else` in instruction 0 has no meaning there: an `else` follows the body of an `if`"
    );
    assert_eq!(
        push(Operation::Case { labels: [1].into(), body: 0 }),
        "`case` in instruction 0 has no meaning there: a `switch` consists of cases"
    );
    assert!(push(Operation::Break { levels: 1 }).contains("0 are open"));
    assert!(push(Operation::Continue { levels: 0 }).contains("0 are open"));
}

/// What is assigned to a variable that shows is a result: no qubit is measured besides.
#[test]
fn assigned_variables_are_results() {
    let with = |assign: &dyn Fn(&mut Circuit)| {
        let mut c = Circuit::new(2);
        c.x(1).unwrap();
        assign(&mut c);
        c
    };
    let shots = |c: &Circuit| {
        let counts = Simulator::new().run_shots::<f64>(c, &[], 5, 1).unwrap();
        counts.into_iter().collect::<Vec<_>>()
    };
    let scalar = with(&|c| {
        let n = c.add_variable("n", INT).unwrap();
        c.store(n, 3).unwrap();
    });
    let element = with(&|c| {
        let w = c.add_variable("w", VariableType::array(INT, &[2])).unwrap();
        c.store_element(w, [1.into()], 7).unwrap();
    });
    let bits = with(&|c| {
        let b = c.bit_register("b", 2).unwrap();
        c.store_bits(b, ClassicalExpr::constant(ClassicalType::Bits(2), 2)).unwrap();
    });
    for (circuit, text) in [(scalar, "n=3"), (element, "w=[0, 7]"), (bits, "10")] {
        assert!(circuit.has_results(), "{circuit}");
        assert_eq!(shots(&circuit), [(text.to_owned(), 5)]);
    }
    // Neither a hidden variable nor the variable of a loop is one: all qubits are measured, and
    // nothing else shows.
    let hidden = with(&|c| {
        let n = c.hidden_variable("n", INT).unwrap();
        c.store(n, 3).unwrap();
    });
    let over = with(&|c| {
        let i = c.add_variable("i", INT).unwrap();
        c.for_loop(i, [1, 1, 2].map(ClassicalExpr::from), |c| c.x(0)).unwrap();
    });
    for circuit in [hidden, over] {
        assert!(!circuit.has_results(), "{circuit}");
        assert_eq!(shots(&circuit), [("10".to_owned(), 5)]);
    }
}
