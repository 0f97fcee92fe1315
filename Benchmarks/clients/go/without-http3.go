//go:build !quic

package main

import (
	"fmt"
	"net/http"
	"os"
)

func http3Transport() http.RoundTripper {
	fmt.Fprintln(os.Stderr, "built without HTTP/3")
	os.Exit(2)
	return nil
}
