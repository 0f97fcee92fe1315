//go:build !websocket

package main

import (
	"fmt"
	"os"
)

func echo(string, int64, int64, int, int64) (ended, received, errors int64) {
	fmt.Fprintln(os.Stderr, "built without WebSockets")
	os.Exit(2)
	return
}
