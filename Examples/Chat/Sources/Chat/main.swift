// A WebSocket: lines of standard input are sent as text messages, and text messages are printed.
//
//     swift run chat wss://example.org/chat
import URLLoading

/// The lines of standard input, read on a thread of its own, because reading blocks.
func inputLines() -> AsyncStream<String> {
    AsyncStream { continuation in
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
    }
}

guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
    print("usage: chat URL")
    exit(2)
}
let session = URLSession(configuration: .ephemeral)
let task = session.webSocketTask(with: url)
// A lost server is noticed after twice the interval.
task.pingInterval = 20
task.resume()

let sender = Task {
    for await line in inputLines() { try await task.send(.string(line)) }
    task.cancel(with: .normalClosure, reason: nil)
}
do {
    for try await message in task.messages {
        let line =
            switch message {
            case .string(let text): text
            case .data(let data): "\(data.count) bytes"
            }
        // At once, also to a pipe, unlike `print`.
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
    print("closed with \(task.closeCode.rawValue)")
} catch {
    print(error.localizedDescription)
    exit(1)
}
sender.cancel()
