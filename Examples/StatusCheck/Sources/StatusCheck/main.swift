// Checks URLs and prints a line of JSON for each: for a health check or a job in a container. The Dockerfile beside it
// builds an image. The exit code is 1 if a URL does not answer with a status of 200 to 299 within ten seconds.
//
//     swift run status-check https://example.org/ https://example.com/
import URLLoading

struct Result: Encodable, Sendable {
    var url: String
    var status: Int?
    var error: String?
    var milliseconds: Int

    var isGood: Bool { status.map { (200...299).contains($0) } ?? false }
}

func check(_ text: String, in session: URLSession) async -> Result {
    let start = ContinuousClock.now
    func result(_ status: Int?, _ error: String?) -> Result {
        let time = start.duration(to: .now)
        return Result(url: text, status: status, error: error, milliseconds: Int(time / .milliseconds(1)))
    }
    guard let url = URL(string: text) else { return result(nil, "not a URL") }
    do {
        // The body is not read.
        let (bytes, response) = try await session.bytes(for: URLRequest(url: url))
        bytes.task.cancel()
        return result((response as? HTTPURLResponse)?.statusCode, nil)
    } catch {
        return result(nil, error.localizedDescription)
    }
}

let urls = CommandLine.arguments.dropFirst()
guard !urls.isEmpty else {
    print("usage: status-check URL…")
    exit(2)
}
// Nothing is read from or written to the disk.
let configuration = URLSessionConfiguration.ephemeral
configuration.timeoutIntervalForResource = 10
let session = URLSession(configuration: configuration)
let isGood = await withTaskGroup(of: Result.self) { group in
    for url in urls { group.addTask { await check(url, in: session) } }
    var isGood = true
    for await result in group {
        if let line = try? JSONEncoder().encode(result) { print(String(decoding: line, as: UTF8.self)) }
        isGood = isGood && result.isGood
    }
    return isGood
}
exit(isGood ? 0 : 1)
