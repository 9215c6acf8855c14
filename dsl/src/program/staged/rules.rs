//! The value of a pullback: one cotangent for each input, or `none`.

use super::*;

/// `none`, in the value of a pullback.
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "a word of the language")]
pub struct none;

/// The cotangent of what has none.
#[derive(Clone, Copy, Debug)]
pub struct NoCotangent;

/// A cotangent for an input whose cotangent is `B`.
#[diagnostic::on_unimplemented(
    message = "expected a cotangent `{B}`, given `{Self}`",
    label = "this is `{Self}`",
    note = "an input that has no cotangent (an int, a bool, a handle) gets `none`"
)]
pub trait Cotangent<B> {
    /// Appends the value; nothing if there is none.
    fn push(self, to: &mut Vec<StagedOperand>);
}
impl Cotangent<NoCotangent> for none {
    fn push(self, _: &mut Vec<StagedOperand>) {}
}
impl<K: Shape<Staged = Ex<K>>> Cotangent<Ex<K>> for none {
    fn push(self, to: &mut Vec<StagedOperand>) {
        to.push(StagedOperand::Value(with(|b| b.stage.b.zero(&K::kind()))));
    }
}
macro_rules! cotangents {
    ($($X:ty => $K:ty;)*) => {$(
        impl Cotangent<Ex<$K>> for $X {
            fn push(self, to: &mut Vec<StagedOperand>) {
                to.push(fitted::<Ex<$K>>(self));
            }
        }
    )*};
}
cotangents! {
    Ex<f64> => f64; f64 => f64; i64 => f64; Ex<C> => C; Ex<f64> => C; f64 => C; i64 => C;
    Ex<Array<f64>> => Array<f64>; Ex<Array<C>> => Array<C>;
}
macro_rules! cotangent_tuples {
    ($(($($T:ident $U:ident $k:tt)+))*) => {$(
        impl<$($T: Cotangent<$U>, $U),+> Cotangent<Inputs<($($U,)+)>> for ($($T,)+) {
            fn push(self, to: &mut Vec<StagedOperand>) {
                $(self.$k.push(to);)+
            }
        }
        impl<$($T: Cotangent<$U>, $U: Handle),+> Cotangent<($($U,)+)> for ($($T,)+) {
            fn push(self, to: &mut Vec<StagedOperand>) {
                let mut fields = Vec::new();
                $(self.$k.push(&mut fields);)+
                let kind = Kind::tuple([$($U::kind()),+]);
                to.push(with(|b| sure(b.stage.tuple(&fields, Some(&kind)))));
            }
        }
    )*};
}
cotangent_tuples! {
    (A T 0) (A T 0 B U 1) (A T 0 B U 1 C V 2) (A T 0 B U 1 C V 2 D W 3) (A T 0 B U 1 C V 2 D W 3 E X 4)
    (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5)
}

/// The cotangents of all inputs of a rule with several.
#[derive(Debug)]
pub struct Inputs<T>(PhantomData<fn() -> T>);

/// The value of a pullback.
pub fn give_cotangents<B>(x: impl Cotangent<B>) {
    let mut fields = Vec::new();
    x.push(&mut fields);
    with(|b| {
        let values: Array<Value> = fields
            .iter()
            .filter_map(|g| match g {
                StagedOperand::Value(v) => Some(*v),
                _ => None,
            })
            .collect();
        let kind = b.stage.result().clone();
        let tuple = b.stage.b.tuple(&values, kind);
        b.stage.b.ret(tuple);
    });
}
