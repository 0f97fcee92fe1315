// Shows the stored copy of a feed at once, then asks the server whether it has changed. The second run shows the first
// copy without a network.
//
//     swift run cache-first-feed https://www.swift.org/atom.xml
import URLLoading

/// Prints where each response came from.
final class Sources: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        for transaction in metrics.transactionMetrics {
            guard let status = (transaction.response as? HTTPURLResponse)?.statusCode else { continue }
            let source = transaction.resourceFetchType == .localCache ? "cache" : "network"
            print("  \(source): \(status), \(transaction.countOfResponseBodyBytesReceived) bytes on the wire")
        }
    }
}

func titles(_ feed: Data) -> [Substring] {
    String(decoding: feed, as: UTF8.self).split(separator: "<title>").dropFirst().prefix(5).compactMap {
        $0.split(separator: "</title>", maxSplits: 1).first
    }
}

guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
    print("usage: cache-first-feed URL")
    exit(2)
}
let configuration = URLSessionConfiguration.default
configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 64 << 20)
let session = URLSession(configuration: configuration)
var request = URLRequest(url: url)

request.cachePolicy = .returnCacheDataDontLoad
let stored = try? await session.data(for: request, delegate: Sources()).0
if let stored { print("stored:", titles(stored)) } else { print("nothing is stored yet") }

request.cachePolicy = .reloadRevalidatingCacheData
do {
    let (new, _) = try await session.data(for: request, delegate: Sources())
    if new == stored { print("unchanged") } else { print("new:", titles(new)) }
} catch {
    print(error.localizedDescription)
    exit(stored == nil ? 1 : 0)
}
// The response may still be on its way to the disk.
await session.flush()
