//! Splitting of the body of [`circuit!`](crate::circuit!) into its statements.

/// Cuts the body of [`circuit!`] into pieces.
#[doc(hidden)]
#[macro_export]
macro_rules! __body {
    ($c:ident
        $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt $b0:tt $b1:tt $b2:tt $b3:tt $b4:tt $b5:tt $c0:tt $c1:tt
        $c2:tt $c3:tt $c4:tt $c5:tt $d0:tt $d1:tt $d2:tt $d3:tt $d4:tt $d5:tt $e0:tt $e1:tt $e2:tt $e3:tt
        $e4:tt $e5:tt $f0:tt $f1:tt $f2:tt $f3:tt $f4:tt $f5:tt $g0:tt $g1:tt $g2:tt $g3:tt $g4:tt $g5:tt
        $h0:tt $h1:tt $h2:tt $h3:tt $h4:tt $h5:tt
        $($rest:tt)+
    ) => {
        $crate::__cut! {
            $c
            [$a0 $a1 $a2 $a3 $a4 $a5 $b0 $b1 $b2 $b3 $b4 $b5 $c0 $c1 $c2 $c3 $c4 $c5 $d0 $d1 $d2 $d3 $d4 $d5
            $e0 $e1 $e2 $e3 $e4 $e5 $f0 $f1 $f2 $f3 $f4 $f5 $g0 $g1 $g2 $g3 $g4 $g5 $h0 $h1 $h2 $h3 $h4 $h5]
            $($rest)+
        }
    };
    ($c:ident $($rest:tt)*) => {
        $crate::__statements! { $c [] $($rest)* }
    };
}

/// `c [head] tokens`: ends a piece at the next `;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __cut {
    ($c:ident [$($h:tt)*] ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 $t5 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 $t5 $t6 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)*) => {
        $crate::__cut! { $c [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)* }
    };
    ($c:ident [$($h:tt)*] $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $($rest)* }
    };
}

/// `c [modifiers] tokens`: cuts a piece into statements.
#[doc(hidden)]
#[macro_export]
macro_rules! __statements {
    ($c:ident []) => {};
    ($c:ident [] ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] ctrl ( $($q:tt)+ ) $($rest:tt)*) => {
        $crate::__statements! { $c [$($m)* ctrl ($($q)+)] $($rest)* }
    };
    ($c:ident [$($m:tt)*] repeat ( $($n:tt)+ ) $($rest:tt)*) => {
        $crate::__statements! { $c [$($m)* repeat ($($n)+)] $($rest)* }
    };
    ($c:ident $m:tt ctrl $($rest:tt)*) => {
        ::core::compile_error!("circuit!: controls are in parentheses: `ctrl(0, !1) x 2;`");
    };
    ($c:ident $m:tt repeat $($rest:tt)*) => {
        ::core::compile_error!("circuit!: a number of times is in parentheses: `repeat(3) { … }`");
    };
    ($c:ident $m:tt dagger ($($s:tt)*) $($rest:tt)*) => {
        ::core::compile_error!("circuit!: the inverse is written `dagger h 0;` or `dagger { … }`");
    };
    ($c:ident [$($m:tt)*] dagger $($rest:tt)*) => {
        $crate::__statements! { $c [$($m)* dagger] $($rest)* }
    };
    ($c:ident $m:tt for $($rest:tt)*) => {
        $crate::__block! { $c $m [] [for] $($rest)* }
    };
    ($c:ident $m:tt if $($rest:tt)*) => {
        $crate::__block! { $c $m [] [if] $($rest)* }
    };
    ($c:ident $m:tt when $($rest:tt)*) => {
        $crate::__block! { $c $m [] [when] $($rest)* }
    };
    ($c:ident $m:tt while_loop $($rest:tt)*) => {
        $crate::__block! { $c $m [] [while_loop] $($rest)* }
    };
    ($c:ident $m:tt for_loop $($rest:tt)*) => {
        $crate::__block! { $c $m [] [for_loop] $($rest)* }
    };
    ($c:ident $m:tt while $($rest:tt)*) => {
        $crate::__no_statement! { while }
    };
    ($c:ident $m:tt loop $($rest:tt)*) => {
        $crate::__no_statement! { loop }
    };
    ($c:ident $m:tt match $($rest:tt)*) => {
        $crate::__no_statement! { match }
    };
    ($c:ident $m:tt return $($rest:tt)*) => {
        $crate::__no_statement! { return }
    };
    ($c:ident $m:tt do | $v:ident | $body:block $($rest:tt)*) => {
        $crate::__statement! { $c $m @do $v $body }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 $t6 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 $t6 $t7 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)+) => {
        $crate::__long! { $c $m [$t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)+ }
    };
    ($c:ident [$($m:tt)*] $($s:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `;` at the end of `",
            ::core::stringify!($($m)* $($s)*),
            "`"
        ));
    };
}

/// `c [modifiers] [statement so far] tokens`: a statement of more than 8 tokens.
#[doc(hidden)]
#[macro_export]
macro_rules! __long {
    ($c:ident $m:tt [$($s:tt)*] ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 $t5 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 $t5 $t6 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)*) => {
        $crate::__long! { $c $m [$($s)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `;` at the end of `",
            ::core::stringify!($($s)* $($rest)*),
            "`"
        ));
    };
}

/// `c [modifiers] [blocks so far] [head so far] tokens`: a head and a block, with what follows
/// `else`.
#[doc(hidden)]
#[macro_export]
macro_rules! __block {
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* ] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* ] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4 $t5] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4 $t5] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt $done:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)*) => {
        $crate::__block! { $c $m $done [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)* }
    };
    ($c:ident $m:tt $done:tt [$($h:tt)*] $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected a block `{ … }` after `",
            ::core::stringify!($($h)* $($rest)*),
            "`"
        ));
    };
}
