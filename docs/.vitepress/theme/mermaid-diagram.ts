/** One Mermaid diagram, drawn in the browser and again whenever the reader switches between light and dark. */
import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue'

export const MermaidDiagram = defineComponent({
  props: { text: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData()
    const id = `diagram-${useId()}`
    const svg = ref('')

    async function draw(): Promise<void> {
      const { default: mermaid } = await import('mermaid')
      mermaid.initialize({ startOnLoad: false, theme: isDark.value ? 'dark' : 'neutral' })
      svg.value = (await mermaid.render(id, decodeURIComponent(props.text))).svg
    }
    onMounted(() => {
      void draw()
      watch(isDark, draw)
    })
    return () => h('div', { class: 'mermaid-diagram', innerHTML: svg.value })
  },
})
