//! Conversions to what other crates have, there and back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Debug;

use faer::{Col, Mat};
use ketgrad_core::{
    array::Array,
    circuit::Circuit,
    exec::Limits,
    matrix::Matrix,
    observable::{PauliString, PauliSum},
    optimize::{Adam, Lbfgs, NelderMead, NewtonCg, Objective, Optimizer, Spsa, State, Stopping},
    problem,
    simulate::Simulator,
    state::StateVector,
};
use nalgebra::{DMatrix, DVector};
use ndarray::{ArrayD, ArrayViewD};
use num_complex::Complex;
use serde_json::{from_str, from_value, json, to_string, to_value};

type C = Complex<f64>;

#[track_caller]
fn same_after_json<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug>(
    value: &T,
) {
    assert_eq!(from_str::<T>(&to_string(value).unwrap()).unwrap(), *value);
}

#[test]
fn nalgebra_has_the_same_elements_in_the_same_places() {
    let ours = Array::new(&[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let theirs = DMatrix::try_from(&ours).unwrap();
    assert_eq!(theirs, DMatrix::from_row_slice(2, 3, ours.items()));
    assert_eq!((theirs[(0, 2)], theirs[(1, 0)]), (3.0, 4.0));
    assert_eq!(Array::from(&theirs), ours);
    assert_eq!(Array::from(&DMatrix::<f64>::zeros(0, 4)).shape()[..], [0, 4]);
    let vector = DVector::from_vec(vec![1.0, -2.0]);
    assert_eq!(DVector::try_from(Array::from(vector.clone())).unwrap(), vector);
    let wrong = DMatrix::try_from(&Array::from(vec![1.0, 2.0])).unwrap_err();
    assert_eq!(wrong.to_string(), "`DMatrix::try_from` takes an array of two axes, given [2]");
    assert!(DVector::try_from(ours).is_err());

    let h = Matrix::from_rows(vec![
        vec![C::new(0.6, 0.0), C::new(0.0, 0.8)],
        vec![C::new(0.0, 0.8), C::new(0.6, 0.0)],
    ]);
    let h = h.unwrap();
    let theirs = DMatrix::from(&h);
    assert_eq!(theirs[(0, 1)], h[(0, 1)]);
    assert_eq!(Matrix::try_from(&theirs).unwrap(), h);
    assert!(Matrix::try_from(&DMatrix::<C>::zeros(3, 3)).is_err());

    let mut bell = Circuit::new(2);
    bell.h(0).unwrap().cx(0, 1).unwrap();
    let state = Simulator::new().run::<f64>(&bell, &[]).unwrap();
    let vector = DVector::from(state.clone());
    assert_eq!(vector.as_slice(), state.amplitudes());
    assert_eq!(StateVector::try_from(vector.clone()).unwrap().amplitudes(), state.amplitudes());
    assert!(StateVector::try_from(vector * C::new(2.0, 0.0)).is_err());
}

#[test]
fn faer_has_the_same_elements_in_the_same_places() {
    let ours = Array::new(&[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let theirs = Mat::try_from(&ours).unwrap();
    assert_eq!(theirs, faer::mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(Array::from(theirs.as_ref()), ours);
    // Transposed, a part, and empty.
    assert_eq!(Array::from(theirs.transpose()).items(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let part = Array::from(theirs.as_ref().submatrix(0, 1, 2, 2));
    assert_eq!((&part.shape()[..], part.items()), (&[2, 2][..], &[2.0, 3.0, 5.0, 6.0][..]));
    assert_eq!(Array::from(Mat::<f64>::zeros(0, 4).as_ref()).shape()[..], [0, 4]);
    let column = Col::try_from(&Array::from(vec![1.0, -2.0])).unwrap();
    assert_eq!((column.nrows(), column[1]), (2, -2.0));
    assert_eq!(Array::from(column).items(), [1.0, -2.0]);
    let wrong = Mat::try_from(&Array::from(vec![1.0, 2.0])).unwrap_err();
    assert_eq!(wrong.to_string(), "`Mat::try_from` takes an array of two axes, given [2]");
    assert!(Col::try_from(&ours).is_err());

    let (c, s) = (C::new(0.6, 0.0), C::new(0.0, 0.8));
    let u = Matrix::from_rows(vec![vec![c, s], vec![-s, c]]).unwrap();
    let theirs = Mat::from(&u);
    assert_eq!((theirs[(0, 1)], theirs[(1, 0)]), (s, -s));
    assert_eq!(Matrix::try_from(theirs.as_ref()).unwrap(), u);
    assert!(Matrix::try_from(Mat::<C>::zeros(3, 3).as_ref()).is_err());

    let mut bell = Circuit::new(2);
    bell.h(0).unwrap().cx(0, 1).unwrap();
    let state = Simulator::new().run::<f64>(&bell, &[]).unwrap();
    let column = Col::from(&state);
    assert!(column.iter().eq(state.amplitudes()));
    assert_eq!(StateVector::try_from(column).unwrap().amplitudes(), state.amplitudes());
    assert!(StateVector::try_from(Col::<C>::zeros(4)).is_err());
}

#[test]
fn ndarray_has_the_same_elements_whatever_its_order_in_memory() {
    let ours = Array::new(&[2, 3, 2], (0..12).collect()).unwrap();
    let view = ArrayViewD::try_from(&ours).unwrap();
    assert_eq!((view.shape(), view[[1, 0, 1]]), (&[2, 3, 2][..], 7));
    assert_eq!(Array::from(view.view()), ours);
    let theirs = ArrayD::try_from(ours.clone()).unwrap();
    assert_eq!(Array::from(theirs.clone()), ours);
    // Transposed, reversed, in part, and empty.
    let turned = theirs.clone().reversed_axes();
    let expected: Vec<i32> = turned.iter().copied().collect();
    assert_eq!(Array::from(turned.clone()).items(), expected);
    assert_eq!(Array::from(turned).shape()[..], [2, 3, 2]);
    let part = theirs.slice(ndarray::s![.., 1..;-1, 0]);
    assert_eq!(Array::from(part).items(), [4, 2, 10, 8]);
    let owned = theirs.slice_move(ndarray::s![1.., 1.., ..]);
    assert_eq!(Array::from(owned).items(), [8, 9, 10, 11]);
    assert_eq!(Array::from(ndarray::Array2::<f64>::zeros((3, 0))).shape()[..], [3, 0]);
    // What has no axis is a number: here an array of one.
    assert_eq!(Array::from(ndarray::arr0(5.0)).shape()[..], [1]);
}

/// A circuit is written as OpenQASM.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Job {
    #[serde(with = "ketgrad_core::qasm::serde")]
    circuit: Circuit,
}

#[test]
fn serde_gives_back_what_was_written() {
    let array = Array::new(&[2, 2], vec![0.1, -0.0, 1e-300, 1.0 / 3.0]).unwrap();
    assert_eq!(
        to_value(&array).unwrap(),
        json!({ "shape": [2, 2], "items": [0.1, -0.0, 1e-300, 1.0 / 3.0] })
    );
    same_after_json(&array);
    same_after_json(&Array::<C>::new(&[1, 1], vec![C::new(1.0, -2.0)]).unwrap());
    let z = Matrix::from_rows(vec![vec![1.0, 0.0], vec![0.0, -1.0]]).unwrap();
    assert_eq!(to_value(&z).unwrap(), json!([[1.0, 0.0], [0.0, -1.0]]));
    same_after_json(&z);
    same_after_json(&problem::h2());
    same_after_json(&"X0 Y3".parse::<PauliString>().unwrap());
    assert_eq!(to_value("Z0 - 0.5*X1".parse::<PauliSum>().unwrap()).unwrap(), json!("Z0 - 0.5*X1"));
    same_after_json(&Limits::new().with_steps(7));
    let state = StateVector::<C>::zero(2).unwrap();
    let read: StateVector<C> = from_str(&to_string(&state).unwrap()).unwrap();
    assert_eq!(read.amplitudes(), state.amplitudes());

    let mut circuit = Circuit::new(3);
    let theta = circuit.param("theta");
    circuit.h(0).unwrap().rx(1, theta).unwrap().cx(0, 2).unwrap().rz(2, 0.123_456_789).unwrap();
    let text = to_string(&Job { circuit: circuit.clone() }).unwrap();
    let read: Job = from_str(&text).unwrap();
    assert_eq!(read.circuit.to_string(), circuit.to_string());
}

/// A circuit that cannot be built by hand is not read either.
#[test]
fn serde_refuses_what_makes_no_sense() {
    let error = |text: &str| from_str::<Array<f64>>(text).unwrap_err().to_string();
    assert!(error(r#"{"shape": [2, 2], "items": [1.0, 2.0, 3.0]}"#).contains("[2, 2]"));
    assert!(error(r#"{"shape": [1], "items": [1.0], "order": "C"}"#).contains("order"));
    assert!(from_value::<Matrix<f64>>(json!([[1.0, 0.0], [0.0]])).is_err());
    let error = from_value::<StateVector<C>>(json!([[1.0, 0.0], [1.0, 0.0]])).unwrap_err();
    assert!(error.to_string().contains("norm"), "{error}");
    assert!(from_value::<PauliSum>(json!("Z0 + W1")).is_err());
    assert!(
        from_value::<Job>(json!({ "circuit": "qubit q; frobnicate q;" }))
            .unwrap_err()
            .to_string()
            .contains("frobnicate")
    );
}

/// A parabola, whose minimum is at (1, -2).
struct Parabola;

impl Objective for Parabola {
    type Error = std::convert::Infallible;
    fn value(&self, x: &[f64]) -> Result<f64, Self::Error> {
        Ok((x[0] - 1.0).powi(2) + 3.0 * (x[1] + 2.0).powi(2))
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Self::Error> {
        Ok((self.value(x)?, vec![2.0 * (x[0] - 1.0), 6.0 * (x[1] + 2.0)]))
    }
}

/// A state that was written and read goes on with the same bits.
#[test]
fn states_of_optimizations_go_on_with_the_same_bits() {
    let optimizers: [Optimizer; 5] = [
        Adam::default().into(),
        Lbfgs::default().into(),
        NewtonCg::default().into(),
        NelderMead::default().into(),
        Spsa::default().into(),
    ];
    let stopping = Stopping::default();
    same_after_json(&stopping);
    for optimizer in optimizers {
        same_after_json(&optimizer);
        let mut state = optimizer.start(&Parabola, &[0.3, 0.7]).unwrap();
        for _ in 0..4 {
            let mut read: State = from_str(&to_string(&state).unwrap()).unwrap();
            assert_eq!(read, state);
            let ends = (
                optimizer.advance(&Parabola, &mut state, &stopping).unwrap(),
                optimizer.advance(&Parabola, &mut read, &stopping).unwrap(),
            );
            assert_eq!((ends.0, &read), (ends.1, &state), "{optimizer:?}");
        }
    }
}
