//go:build websocket

package main

import (
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"
)

// One goroutine for each connection, which keeps its share of `concurrency` messages on their way.
func echo(url string, requests, concurrency int64, connections int, body int64) (ended, received, errors int64) {
	payload := make([]byte, body)
	window := concurrency / int64(connections)
	left := requests
	var group sync.WaitGroup
	for i := 0; i < connections; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			socket, _, err := websocket.DefaultDialer.Dial(url, nil)
			if err != nil {
				atomic.AddInt64(&errors, 1)
				return
			}
			defer socket.Close()
			waiting := int64(0)
			for {
				for waiting < window && atomic.AddInt64(&left, -1) >= 0 {
					if socket.WriteMessage(websocket.BinaryMessage, payload) != nil {
						atomic.AddInt64(&errors, 1)
						return
					}
					waiting++
				}
				if waiting == 0 {
					return
				}
				_, message, err := socket.ReadMessage()
				if err != nil || int64(len(message)) != body {
					atomic.AddInt64(&errors, 1)
					return
				}
				waiting--
				atomic.AddInt64(&received, int64(len(message)))
				atomic.AddInt64(&ended, 1)
			}
		}()
	}
	group.Wait()
	return
}
