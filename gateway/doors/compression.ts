/**
 * Compresses answers for clients that accept it.
 *
 * It runs on the event loop, not in the thread pool. Up to 20 KB, the pool keeps the event loop busy longer than compressing does, because
 * of the stream and the two thread changes (bench compression). File access uses the same threads.
 *
 * A budget limits the work to a tenth of the time. While it is used up, answers are sent uncompressed, also to a client that refuses such
 * answers: its header must not buy more of the time. RFC 9110, 12.1, allows an answer that does not conform to the preferences where it is
 * better than a 406. Here it is: the operation has run, so after a 406 the client would repeat it.
 *
 * Streams are not compressed: their events are small, and each would need a flush.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { Counter, type Registry } from '@prometheus-io/client'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ENCODINGS, negotiateEncoding, type Encoding } from './accept-encoding.ts'
import type { Answer } from './answers.ts'
import { makeTimeBudget, type TimeBudget } from './time-budget.ts'

export type Compression = {
  /** False if the client refuses every coding and also uncompressed answers. */
  accepts(headers: IncomingHttpHeaders): boolean
  /** The answer in the coding that these request headers ask for. */
  compress(headers: IncomingHttpHeaders, answer: Answer): Answer
}

/** The overhead was measured: the zlib object, further headers, and a body that is written apart from them (bench compression). */
const BUDGET = { share: 0.1, burstMs: 10, overheadMs: 0.01 }
/** Larger answers take more than 10 ms. */
const BYTES_MAX = 4_194_304

/** The levels with the best ratio of time to size for answers in JSON. */
const COMPRESS: Readonly<Record<Encoding, (body: string | Buffer) => Buffer>> = {
  zstd: (body) => zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: (body) => gzipSync(body, { level: 1 }),
}

/** `fromBytes`: the minimum size of an answer that is compressed, or 'off'. */
export function makeCompression(fromBytes: number | 'off', registry: Registry, budget: TimeBudget = makeTimeBudget(BUDGET)): Compression {
  const metrics = makeMetrics(registry, budget)

  return {
    accepts(headers) {
      const { encoding, identity } = negotiateEncoding(headers['accept-encoding'])
      return identity || (encoding !== undefined && fromBytes !== 'off')
    },
    compress(headers, answer) {
      if (fromBytes === 'off') return answer
      const { encoding, identity } = negotiateEncoding(headers['accept-encoding'])
      // A text has at least as many bytes as characters. Counting the bytes takes a microsecond.
      if (identity && answer.body.length < fromBytes && Buffer.byteLength(answer.body) < fromBytes) return answer
      const varied = { ...answer, headers: { ...answer.headers, vary: varyWith(answer.headers?.['vary']) } }
      if (encoding === undefined) return varied
      const size = Buffer.byteLength(answer.body)
      if (size > BYTES_MAX) return varied
      if (!budget.has()) {
        metrics.skipped.inc()
        return varied
      }
      const body = budget.spend(() => COMPRESS[encoding](answer.body))
      if (identity && body.length >= size) return varied
      metrics.answers.inc({ encoding })
      metrics.saved.inc(Math.max(0, size - body.length))
      return { ...varied, headers: { ...varied.headers, 'content-encoding': encoding }, body }
    },
  }
}

export function varyWith(vary: string | undefined): string {
  return vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`
}

const TEXT = /^text\/|^application\/(json|javascript|.+\+json)|^image\/svg/

/** Compresses the replies of routes: the schema, metrics, pages. A reply that already has a negotiated coding is left unchanged. */
export function compressReplies(app: FastifyInstance, compression: Compression): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const contentType = String(reply.getHeader('content-type'))
    const vary = varyOf(reply)
    const isText = (typeof payload === 'string' || Buffer.isBuffer(payload)) && TEXT.test(contentType)
    if (!isText || vary['vary']?.includes('accept-encoding') === true) return payload
    const answer = compression.compress(request.headers, { status: reply.statusCode, contentType, headers: vary, body: payload })
    reply.headers(answer.headers ?? {})
    return answer.body
  })
}

/** The header `vary` of a reply so far. CORS sets one. */
export function varyOf(reply: FastifyReply): Readonly<Record<string, string>> {
  const vary = reply.getHeader('vary')
  return vary === undefined ? {} : { vary: String(vary) }
}

function makeMetrics(registry: Registry, budget: TimeBudget) {
  const registers = [registry]
  const answers = new Counter({
    name: 'tidemark_gateway_compressed_answers_total',
    help: 'Compressed answers, by encoding.',
    labelNames: ['encoding'],
    registers,
  })
  new Counter({
    name: 'tidemark_gateway_compression_seconds_total',
    help: 'Seconds spent on compressing answers.',
    registers,
    collect() {
      this.reset()
      this.inc(budget.spentMs() / 1_000)
    },
  })
  for (const encoding of ENCODINGS) answers.inc({ encoding }, 0)
  return {
    answers,
    skipped: new Counter({
      name: 'tidemark_gateway_compression_skipped_total',
      help: 'Answers that went uncompressed because compression had used up its tenth of the time.',
      registers,
    }),
    saved: new Counter({ name: 'tidemark_gateway_compression_saved_bytes_total', help: 'Bytes that compression saved.', registers }),
  }
}
