import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// A generator that runs while the graph is built, and uses the network's types.
guard let url = URL(string: "http://localhost/"), CommandLine.arguments.count == 2 else { exit(2) }
var request = URLRequest(url: url)
request.httpMethod = "PUT"
let source =
    "public let generated = \"\(request.httpMethod ?? "") \(String(reflecting: URLSession.self))\"\n"
try source.write(toFile: CommandLine.arguments[1], atomically: true, encoding: .utf8)
