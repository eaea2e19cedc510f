// Command regexp finds and replaces in its input.
package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	for _, pattern := range []string{`\b[A-Z]\w+`, `(\w+) (?:is|was) (\w+)`, `(?i)the\s+\w+`, `[^\s\x00-\x7f]+`, `(a|b)*c`} {
		expression := regexp.MustCompile(pattern)
		found := expression.FindAllStringSubmatchIndex(string(text), -1)
		fmt.Println(pattern, len(found), found[:min(2, len(found))])
	}
	swapped := regexp.MustCompile(`(\w+)(\s+)(\w+)`).ReplaceAll(text, []byte("$3$2$1"))
	os.Stdout.Write(swapped[:min(200, len(swapped))])
	_, err = regexp.Compile(`a(b`)
	fmt.Println("\nerror:", err)
}
