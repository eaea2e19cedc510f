// Command bignum computes digits of pi, a Mersenne prime and floats of many bits.
package main

import (
	"fmt"
	"math"
	"math/big"
)

// pi is Gibbons's spigot.
func pi(digits int) string {
	q, r, t, k, n, l := big.NewInt(1), big.NewInt(0), big.NewInt(1), int64(1), big.NewInt(3), int64(3)
	text := ""
	for len(text) < digits {
		left := new(big.Int).Add(new(big.Int).Mul(big.NewInt(4), q), new(big.Int).Sub(r, t))
		if left.Cmp(new(big.Int).Mul(n, t)) < 0 {
			text += n.String()
			next := new(big.Int).Mul(big.NewInt(10), new(big.Int).Sub(r, new(big.Int).Mul(n, t)))
			up := new(big.Int).Add(new(big.Int).Mul(big.NewInt(3), q), r)
			n = new(big.Int).Sub(new(big.Int).Div(up.Mul(up, big.NewInt(10)), t), new(big.Int).Mul(big.NewInt(10), n))
			q, r = q.Mul(q, big.NewInt(10)), next
			continue
		}
		next := new(big.Int).Mul(new(big.Int).Add(new(big.Int).Mul(big.NewInt(2), q), r), big.NewInt(l))
		up := new(big.Int).Add(new(big.Int).Mul(q, big.NewInt(7*k+2)), new(big.Int).Mul(r, big.NewInt(l)))
		n = up.Div(up, new(big.Int).Mul(t, big.NewInt(l)))
		q, t, l, k, r = q.Mul(q, big.NewInt(k)), t.Mul(t, big.NewInt(l)), l+2, k+1, next
	}
	return text
}

func main() {
	fmt.Println(pi(200))
	mersenne := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 521), big.NewInt(1))
	fmt.Println(mersenne.ProbablyPrime(5), mersenne.Text(36))
	root := new(big.Float).SetPrec(500).SetInt64(2)
	fmt.Println(root.Sqrt(root).Text('g', 100))
	for _, x := range []float64{0, 0.1, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(-1), math.NaN()} {
		fmt.Println(math.Sin(x), math.Exp(-x*x), math.Float64bits(math.Cbrt(x)), math.FMA(x, x, -x), math.Round(x))
	}
}
