//go:build quic

package main

import (
	"net/http"

	"github.com/lucas-clemente/quic-go/http3"
)

func http3Transport() http.RoundTripper { return &http3.RoundTripper{} }
