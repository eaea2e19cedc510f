// Command hello greets.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Printf("hello from %s/%s\n", runtime.GOOS, runtime.GOARCH)
	fmt.Println(len(os.Args), "argument(s)")
}
